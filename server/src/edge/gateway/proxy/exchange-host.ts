import type { Clock } from '../../../net/clock.ts'
import type { TimerWheel } from '../../../net/timer-wheel.ts'
import type { FieldSet } from '../fields.ts'
import type { GatewayGate } from '../gate.ts'
import type { Table } from '../routes/table.ts'

/** A request whose body is waited for. */
export interface Waiting {
  readonly ip: string
  /** Ends it in favour of other addresses. */
  crowdedOut(): void
}

/** What a request needs of the gateway. */
export interface ExchangeHost {
  readonly clock: Clock
  readonly wheel: TimerWheel
  readonly gate: GatewayGate
  /** The current table. A request keeps the table that it began with. */
  readonly table: Table
  /** There may be one more request. */
  readonly hasRoom: boolean
  /** What Via says of requests that came over HTTP/1.1 and over HTTP/2. */
  readonly via1: string
  readonly via2: string
  /** Fields that clients may send as well as trusted proxies. */
  readonly passed: ReadonlySet<string>
  /**
   * Counts a request whose body is waited for, and returns what ends that; undefined where there is no room. When there
   * are too many, some of the address with the most are ended.
   */
  awaitBody(request: Waiting): (() => void) | undefined
  trusts(peer: string): boolean
  /** knows: the address is one of the trusted ones, by name. */
  knows(address: string): boolean
  clientAddress(peer: string, fields: FieldSet): string
  requestId(peer: string, fields: FieldSet): string
  /** Hears what a gate throws. */
  failed(error: unknown): void
  done(exchange: object): void
}
