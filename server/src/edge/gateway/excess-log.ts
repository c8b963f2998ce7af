import type { Excess } from '../../net/client-budgets.ts'
import type { Clock } from '../../net/clock.ts'
import type { GatewayBounds, GatewayLog } from './options.ts'

const SILENT_MS = 60_000

/** What happened to a client that took too much. */
export type ClientExcess = Excess | 'connections'

/** Reports addresses that take too much: one line a minute for each way to do that, however many do. */
export class ExcessLog {
  readonly #log: GatewayLog
  readonly #clock: Clock
  readonly #texts: Readonly<Record<ClientExcess, string>>
  readonly #saidMs = new Map<ClientExcess, number>()

  constructor(log: GatewayLog, clock: Clock, bounds: GatewayBounds) {
    const proxy = 'if it is a proxy, name it with --trusted-proxies'
    this.#log = log
    this.#clock = clock
    this.#texts = {
      connections: `it has as many connections as it may (${bounds.maxConnectionsPerAddress}), or the gateway has (${bounds.maxConnections}): further ones are closed; ${proxy}, or raise --max-connections-per-address`,
      resets: `it resets more requests right after sending them than it may: connections on which it does are ended; ${proxy}`,
      bytes: `heads of its requests, or of all clients' requests, exceed their memory limit: connections that hold the most are closed; ${proxy}, or raise --max-held`,
    }
  }

  report(excess: ClientExcess, network: string): void {
    const nowMs = this.#clock.nowMs()
    if (nowMs - (this.#saidMs.get(excess) ?? Number.NEGATIVE_INFINITY) < SILENT_MS) return
    this.#saidMs.set(excess, nowMs)
    this.#log.warn('gateway.client_ended', `${network}: ${this.#texts[excess]}`)
  }
}
