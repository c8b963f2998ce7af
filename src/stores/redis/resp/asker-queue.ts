import type { Reply } from './reply.ts'

/** Called once with the reply, or with the reason why there is none. An error reply counts as no reply. */
export interface Asker {
  answered(reply: Reply): void
  failed(error: Error): void
  /** It has collected what goes together, and its command does not wait for others of the same turn. */
  readonly isPrompt?: boolean
}

const INITIAL_ROOM = 16

/** The askers that wait for replies, in order: a ring that grows. */
export class AskerQueue {
  #ring: (Asker | undefined)[] = new Array<Asker | undefined>(INITIAL_ROOM).fill(undefined)
  #head = 0
  #size = 0

  add(asker: Asker): void {
    if (this.#size === this.#ring.length) this.#grow()
    this.#ring[(this.#head + this.#size) & (this.#ring.length - 1)] = asker
    this.#size++
  }

  /** Removes the asker that has waited longest. */
  next(): Asker | undefined {
    if (this.#size === 0) return undefined
    const asker = this.#ring[this.#head]
    this.#ring[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#ring.length - 1)
    this.#size--
    return asker
  }

  #grow(): void {
    const inOrder = [...this.#ring.slice(this.#head), ...this.#ring.slice(0, this.#head)]
    this.#ring = [...inOrder, ...new Array<Asker | undefined>(inOrder.length).fill(undefined)]
    this.#head = 0
  }
}
