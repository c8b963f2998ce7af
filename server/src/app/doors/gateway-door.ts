import type { Socket } from 'node:net'
import type { LoadShedder } from 'sluice/internal/engine/load-shedder'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import type { Gateway, UpstreamLimit } from '../../edge/gateway/gateway-options.ts'
import type { GatewayBounds } from '../../edge/gateway/options.ts'
import { openGateway } from '../../edge/gateway/proxy/gateway.ts'
import { Ceiling } from '../../edge/gateway-rules/ceiling.ts'
import type { GatewayPlan } from '../../edge/gateway-rules/file/compile-routes.ts'
import type { GatewayLimiter } from '../../edge/gateway-rules/gateway-limiter.ts'
import { LimitGate } from '../../edge/gateway-rules/limit-gate.ts'
import { requestContext } from '../../edge/trace-context.ts'
import { reportCeiling } from '../../observe/metrics/ceiling-metrics.ts'
import type { ReportBuilder } from '../../observe/metrics/metrics-report.ts'
import { reportUpstreams } from '../../observe/metrics/upstream-metrics.ts'
import { faultLog } from '../log/fault-log.ts'
import type { Log } from '../log/log.ts'
import type { Config, GatewayConfig } from '../settings/config.ts'
import { CeilingLog } from './ceiling-log.ts'
import type { Door } from './door.ts'
import { CertificateWatch, grpcTls } from './grpc-certificates.ts'
import { type ListenAddress, reachable } from './listen.ts'

/** The most addresses that the ceiling of a process remembers. */
const CEILING_KEYS = 100_000

/** What a gateway uses of its process. */
export interface GatewayLimits {
  readonly limiter: GatewayLimiter
  /** Whether the traces of requests are read. */
  readonly readsTraces: boolean
  /** What sheds requests that an upstream has no room for. */
  readonly shedder: Pick<LoadShedder, 'modeOf' | 'shedUpstream'> | undefined
}

interface GatewayDoorParts extends GatewayLimits {
  readonly config: GatewayConfig
  readonly plan: GatewayPlan
  readonly log: Log
  readonly isShadow: boolean
}

/** Returns how to make the gateway of a service; undefined if it has none. */
export function gatewayDoor({ gateway: config, shadowMode }: Config, plan: GatewayPlan, log: Log) {
  return config && ((limits: GatewayLimits) => new GatewayDoor({ ...limits, config, plan, log, isShadow: shadowMode }))
}

/** The share of the budget of all clients that one address may hold. */
const ADDRESS_SHARE = 1 / 4
const MIB = 1_048_576

/** Returns the bounds on clients; the others are the gateway's defaults. */
function boundsOf({ maxConnections, maxConnectionsPerAddress, maxHeldMib }: GatewayConfig): Partial<GatewayBounds> {
  return {
    ...(maxConnections !== undefined && { maxConnections }),
    ...(maxConnectionsPerAddress !== undefined && { maxConnectionsPerAddress }),
    ...(maxHeldMib !== undefined && {
      maxHeldBytes: maxHeldMib * MIB,
      maxHeldBytesPerAddress: maxHeldMib * MIB * ADDRESS_SHARE,
    }),
  }
}

/** The gateway of a process, on a port or on connections that are passed to it. */
export class GatewayDoor implements Door {
  readonly #parts: GatewayDoorParts
  readonly #gate: LimitGate
  readonly #ceiling: Ceiling
  readonly #ceilingLog: CeilingLog
  #plan: GatewayPlan
  #gateway: Gateway | undefined
  #certificates: CertificateWatch | undefined

  constructor(parts: GatewayDoorParts) {
    const { limiter, isShadow, readsTraces, plan, log } = parts
    this.#parts = parts
    this.#plan = plan
    this.#ceilingLog = new CeilingLog(log, isShadow)
    this.#ceiling = new Ceiling(new MemoryStore({ maxKeys: CEILING_KEYS }), this.#ceilingLog.hit)
    this.#gate = new LimitGate({
      limiter,
      ceiling: this.#ceiling,
      isShadow,
      showsFallback: parts.config.showsFallback,
      failed: faultLog(log),
      contextOf: readsTraces
        ? (request) =>
            requestContext({ traceparent: request.header('traceparent'), tracestate: request.header('tracestate') })
        : undefined,
    })
  }

  /** Requests in flight; empty before it is open. */
  get stats(): Readonly<Record<string, number>> {
    return { ...this.#gateway?.stats }
  }

  /** How many concurrent requests its upstreams accept; empty before it is open. */
  upstreamLimits(): readonly UpstreamLimit[] {
    return this.#gateway?.upstreamLimits() ?? []
  }

  /** Reports what its ceiling refused, or in shadow mode would have refused. */
  report(into: ReportBuilder): void {
    reportUpstreams(into, this.upstreamLimits())
    reportCeiling(into, this.#ceiling.refused, this.#parts.isShadow)
  }

  async listen(at: ListenAddress): Promise<string> {
    if ('path' in at) throw new Error('a gateway listens on a port')
    await this.#open(at)
    return reachable(this.#gateway?.addresses[0]?.port ?? at.port, at)
  }

  /** Prepares it for connections that are passed to it. */
  open(): Promise<void> {
    return this.#open({})
  }

  async #open(at: { readonly host?: string; readonly port?: number }): Promise<void> {
    const { config, log, shedder, isShadow } = this.#parts
    const { tls } = config
    // Made before the files are read, so that no change is missed.
    this.#certificates = tls && new CertificateWatch(tls, (options) => this.#gateway?.setTls(0, options), log)
    const plan = this.#plan
    const trust = config.trust ?? plan.trust
    this.#gateway = await openGateway({
      ...plan.table,
      listeners: [{ ...at, ...(tls && { tls: grpcTls(tls) }) }],
      gate: this.#gate,
      bounds: boundsOf(config),
      log,
      shedding: {
        isOn: () => !isShadow && (shedder?.modeOf('upstream') ?? 'on') === 'on',
        shed: (priority) => shedder?.shedUpstream(priority),
      },
      ...(trust && { trust }),
    })
    // The routes may have changed while it opened.
    if (this.#plan !== plan) this.#gateway.reload(this.#plan.table)
    this.#certificates?.start()
  }

  /** Replaces the routes, in one step. */
  setRoutes(plan: GatewayPlan): void {
    this.#plan = plan
    this.#gateway?.reload(plan.table)
  }

  take(socket: Socket): void {
    if (this.#gateway === undefined) socket.destroy()
    else this.#gateway.accept(0, socket)
  }

  /** Its connections are many and short-lived. */
  shed(): void {}

  async drain(deadlineMs: number): Promise<void> {
    this.#certificates?.stop()
    this.#ceilingLog.stop()
    await this.#gateway?.drain(deadlineMs)
  }
}
