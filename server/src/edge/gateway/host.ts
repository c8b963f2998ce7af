import type { Clock } from '../../net/clock.ts'
import type { TimerWheel } from '../../net/timer-wheel.ts'
import type { ClientExcess } from './excess-log.ts'
import type { Fault } from './gateway-error.ts'
import type { GatewayBounds } from './options.ts'
import type { RequestHead } from './request-head.ts'
import type { Asker, AskerListener } from './sides.ts'

/** What connections of clients need of the gateway. */
export interface Host {
  readonly bounds: GatewayBounds
  /** Returns whether a peer is a proxy whose word about others counts. */
  trusts(peer: string): boolean
  readonly clock: Clock
  readonly wheel: TimerWheel
  /** Returns what serves a request, once it is started. */
  begin(asker: Asker, head: RequestHead): AskerListener
  /** Called for a client whose connection is closed because its address takes too much. */
  tookTooMuch(excess: ClientExcess, address: string): void
  /** Called for input that is not a request. */
  refused(wrong: Fault): void
}
