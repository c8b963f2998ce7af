import type { RequestHead } from '../request-head.ts'
import type { Found, Table } from '../routes/table.ts'
import type { CarrierFailure, CarrierListener } from '../sides.ts'
import type { Member } from '../upstreams/member.ts'

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** The tries of one request: which address has it now, and whether there may be another. */
export class Attempts {
  readonly #table: Table
  readonly #found: Found
  readonly #isSafe: boolean
  /** Whose tries these are: it has the place that an address gave it. */
  readonly #asked: CarrierListener
  #member: Member | undefined
  #isInMember = false
  #hadFreeTry = false
  count = 0

  constructor(table: Table, found: Found, { method, bodyLength, wantsWebSocket }: RequestHead, asked: CarrierListener) {
    this.#asked = asked
    this.#table = table
    this.#found = found
    this.#isSafe = bodyLength === 0 && !wantsWebSocket && SAFE.has(method)
  }

  /** The address that has the request, or had it last. */
  get member(): Member {
    return this.#member as Member
  }

  /** Picks an address: another than the one before, if there is one. */
  next(nowMs: number): Member {
    this.#member = this.#table.upstream(this.#found.route).pick(nowMs, this.#member, this.#asked.priority)
    return this.#member
  }

  /** Counts a try on the address that was picked. */
  begin(): void {
    if (this.count++ === 0) this.#table.upstream(this.#found.route).budget.earn()
    this.#isInMember = true
    this.member.begin()
  }

  /** Says that the address has nothing more to do with the request. It is remembered. */
  leave(): void {
    if (this.#isInMember) this.#member?.end()
    this.#isInMember = false
    const { place } = this.#asked
    this.#asked.place = undefined
    place?.left()
  }

  /** Refuses a request that still waits for a place at its address, which is full and not broken: true, if it did. */
  giveUp(listener: CarrierListener): boolean {
    return this.#member?.limited?.giveUp(listener) ?? false
  }

  /** Stops waiting for a connection. */
  forget(listener: CarrierListener): void {
    this.#member?.pool.forget(listener)
  }

  /** Says that the request is out. */
  sent(): void {
    this.#asked.place?.sent()
  }

  succeeded(): void {
    this.#member?.succeeded()
    this.#asked.place?.answered()
  }

  failed(): void {
    this.#member?.failed()
  }

  /** Returns whether there is one more try after a connection that never came to be. */
  mayConnectAgain(): boolean {
    if (this.count > this.#found.settings.retries) return false
    return this.#table.upstream(this.#found.route).budget.spend()
  }

  /** Whether a request may be sent again after its connection failed before the answer. */
  maySendAgain(failure: CarrierFailure, wasReused: boolean, hasBody: boolean): boolean {
    if (failure === 'invalid') return false
    // An idle connection that the upstream closes just then costs no try.
    if (wasReused && this.#isSafe && !this.#hadFreeTry) {
      this.#hadFreeTry = true
      return true
    }
    const isUnsent = failure === 'unsent' && !hasBody
    return (isUnsent || this.#isSafe) && this.mayConnectAgain()
  }
}
