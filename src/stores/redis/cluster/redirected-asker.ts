import type { Args, Asker, Reply } from '../connection/connection.ts'
import { redirectionOf } from './slot-map.ts'

const MAX_REDIRECTIONS = 4
const HAS_NO_OWNER = /^(CLUSTERDOWN|MASTERDOWN|READONLY)/

/** Knows the nodes of a cluster. */
export interface Router {
  /** Has the map read again; from another node than one that says itself that it does not know. */
  doubt(cluelessAddress: string): void
  /** Returns who serves a slot now. */
  moved(slot: number, address: string): void
  send(address: string, args: Args, asker: Asker, isAsk: boolean): void
}

/** Stands for an asker, and follows where nodes of a cluster send its command instead: nothing was done yet. */
export class RedirectedAsker implements Asker {
  readonly #router: Router
  readonly #slot: number
  #address: string
  readonly #args: Args
  readonly #asker: Asker
  #redirections = 0

  constructor(router: Router, slot: number, address: string, args: Args, asker: Asker) {
    this.#router = router
    this.#slot = slot
    this.#address = address
    this.#args = args
    this.#asker = asker
  }

  get isPrompt(): boolean {
    return this.#asker.isPrompt === true
  }

  answered(reply: Reply): void {
    this.#asker.answered(reply)
  }

  failed(error: Error): void {
    if (HAS_NO_OWNER.test(error.message)) this.#router.doubt(this.#address)
    const redirection = redirectionOf(error.message, this.#address)
    if (redirection === undefined || this.#redirections === MAX_REDIRECTIONS) {
      this.#asker.failed(error)
      return
    }
    const { address, isAsk } = redirection
    this.#redirections++
    this.#address = address
    if (!isAsk) this.#router.moved(this.#slot, address)
    this.#router.send(address, this.#args, this, isAsk)
  }
}
