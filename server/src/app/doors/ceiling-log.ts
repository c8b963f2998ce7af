import { formatDuration } from 'sluice/internal/core/duration'
import type { CeilingHit } from '../../edge/gateway-rules/ceiling.ts'
import type { Log } from '../log/log.ts'

const QUIET_MS = 60_000

/** Writes a line about what the ceiling refuses: the first request immediately, then a count at most once a minute. */
export class CeilingLog {
  readonly #log: Log
  readonly #isShadow: boolean
  #quiet: NodeJS.Timeout | undefined
  #count = 0
  #first: string | undefined

  constructor(log: Log, isShadow: boolean) {
    this.#log = log
    this.#isShadow = isShadow
  }

  /** Counts a refusal. It runs during floods: between two lines it does nothing else. */
  readonly hit = ({ scope, limit }: CeilingHit, ip: string): void => {
    this.#count++
    if (this.#first !== undefined) return
    const rate = `${limit.max}/${formatDuration(limit.windowMs)}`
    this.#first = scope === 'per_ip' ? `${ip} sends more than ${rate}` : `all clients together send more than ${rate}`
    if (this.#quiet === undefined) this.#speak()
  }

  stop(): void {
    clearTimeout(this.#quiet)
  }

  /** Writes the pending line, and then pauses for a minute. */
  #speak(): void {
    this.#quiet = undefined
    if (this.#first === undefined) return
    const requests = this.#count === 1 ? '1 request' : `${this.#count} requests`
    const refused = this.#isShadow ? 'would have refused' : 'refused'
    const advice = 'if that is meant to pass, raise the ceiling; if it is a proxy, name it in trusted_proxies'
    const message = `the ceiling of this process ${refused} ${requests}: ${this.#first}; ${advice}`
    this.#log.warn('gateway.ceiling', message, { count: this.#count })
    this.#count = 0
    this.#first = undefined
    this.#quiet = setTimeout(() => this.#speak(), QUIET_MS).unref()
  }
}
