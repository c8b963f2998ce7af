import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { ProxyTrust } from 'sluice/internal/core/identity/proxy-trust'
import { systemClock } from '../../../net/clock.ts'
import { Crowds } from '../../../net/crowds.ts'
import { TimerWheel } from '../../../net/timer-wheel.ts'
import { type ClientExcess, ExcessLog } from '../excess-log.ts'
import type { FieldSet } from '../fields.ts'
import type { GatewayGate } from '../gate.ts'
import type { Fault } from '../gateway-error.ts'
import type {
  ConnectionInFlight,
  Gateway,
  GatewayAddress,
  GatewayOptions,
  GatewayStats,
  RequestInFlight,
  UpstreamLimit,
  UpstreamShedding,
} from '../gateway-options.ts'
import type { Host } from '../host.ts'
import {
  DEFAULT_GATEWAY_BOUNDS,
  type GatewayBounds,
  type GatewayLog,
  type GatewayTls,
  type RoutingTable,
} from '../options.ts'
import type { RequestHead } from '../request-head.ts'
import { Table } from '../routes/table.ts'
import type { Asker, AskerListener } from '../sides.ts'
import { Connections } from './connections.ts'
import { Exchange } from './exchange.ts'
import type { ExchangeHost, Waiting } from './exchange-host.ts'
import { Listener } from './listener.ts'
import { InFlight } from './under-way.ts'
import { openUpstreams } from './upstream-pools.ts'

/** Starts a reverse proxy. It resolves when all listeners listen. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const gateway = new RunningGateway(options)
  await gateway.listen(options)
  return gateway
}

const SILENT: GatewayLog = { info: () => {}, warn: () => {}, error: () => {} }
const ALWAYS: UpstreamShedding = { isOn: () => true, shed: () => {} }
const REQUEST_ID = /^[\w.:/+=-]{1,128}$/
/** How long an idle connection of HTTP/1.1 may still bring a request when the gateway drains. */
const LAST_CALL_MS = 1_000

class RunningGateway implements Gateway, Host, ExchangeHost {
  readonly clock
  readonly wheel: TimerWheel
  readonly bounds: GatewayBounds
  readonly gate: GatewayGate
  readonly via1: string
  readonly via2: string
  readonly shedding: UpstreamShedding
  readonly #log: GatewayLog
  readonly #excessLog: ExcessLog
  readonly #trust: ProxyTrust | undefined
  readonly #connections: Connections
  readonly #listeners: Listener[] = []
  readonly #exchanges = new InFlight<Exchange>()
  /** Requests whose bodies are waited for. */
  readonly #awaited: Crowds
  /** Request ids begin with it: no two gateways, and no two starts of one, have the same. */
  readonly #idPrefix = randomBytes(9).toString('base64url')
  #ids = 0
  #whenIdle: (() => void) | undefined
  table: Table
  passed: ReadonlySet<string>
  addresses: readonly GatewayAddress[] = []

  constructor({ gate, bounds, trust, via = 'sluice', log = SILENT, clock = systemClock, ...rest }: GatewayOptions) {
    const { shedding = ALWAYS, ...table } = rest
    this.shedding = shedding
    this.clock = clock
    this.wheel = new TimerWheel(clock)
    this.bounds = { ...DEFAULT_GATEWAY_BOUNDS, ...bounds }
    this.#awaited = new Crowds(this.bounds.maxAwaitedBodies)
    this.gate = gate
    this.via1 = `1.1 ${via}`
    this.via2 = `2.0 ${via}`
    this.#log = log
    this.#excessLog = new ExcessLog(log, clock, this.bounds)
    this.#trust = trust === undefined ? undefined : new ProxyTrust(trust)
    this.#connections = new Connections(this)
    this.table = new Table(table, openUpstreams(table, new Map(), this))
    this.passed = passedBy(table)
    for (const group of this.table.upstreams.values()) group.start()
  }

  async listen({ listeners }: GatewayOptions): Promise<void> {
    for (const options of listeners) this.#listeners.push(new Listener(options, this.#connections))
    try {
      const opened = this.#listeners.filter((_, i) => listeners[i]?.port !== undefined)
      this.addresses = await Promise.all(opened.map((listener) => listener.listen()))
    } catch (error) {
      await this.close()
      throw error
    }
  }

  get stats(): GatewayStats {
    let upstreamConnections = 0
    let retries = 0
    for (const { members, budget } of this.table.upstreams.values()) {
      retries += budget.spent
      for (const { pool } of members) upstreamConnections += pool.connections
    }
    const requests = this.#exchanges.size
    return { connections: this.#connections.size, requests, upstreamConnections, retries, ...this.#connections.stats }
  }

  upstreamLimits(): readonly UpstreamLimit[] {
    return [...this.table.upstreams].flatMap(([upstream, { members }]) =>
      members.flatMap(({ endpoint, limited }) => {
        if (limited === undefined) return []
        const { limit, inFlight } = limited.adaptive
        return [{ upstream, address: endpoint.url, limit, inFlight, waiting: limited.waiting }]
      }),
    )
  }

  inFlight(): readonly RequestInFlight[] {
    return this.#exchanges.all().map((exchange) => exchange.progress())
  }

  connectionsInFlight(): readonly ConnectionInFlight[] {
    return this.#connections.inFlight()
  }

  awaitBody(request: Waiting): (() => void) | undefined {
    const { ip } = request
    if (!this.#awaited.admits(ip)) return undefined
    return this.#awaited.add(ip, { use: 'none', leave: () => request.crowdedOut() })
  }

  get hasRoom(): boolean {
    return this.#exchanges.size <= this.bounds.maxRequests
  }

  begin(asker: Asker, head: RequestHead): AskerListener {
    const exchange = new Exchange(this, asker, head)
    this.#exchanges.add(exchange)
    return exchange
  }

  done(exchange: Exchange): void {
    this.#exchanges.delete(exchange)
    if (this.#exchanges.size === 0) this.#whenIdle?.()
  }

  refused(_wrong: Fault): void {}

  tookTooMuch(excess: ClientExcess, address: string): void {
    this.#excessLog.report(excess, address)
  }

  failed(error: unknown): void {
    this.#log.error('gateway.failed', error instanceof Error ? (error.stack ?? error.message) : String(error))
  }

  trusts(peer: string): boolean {
    return this.#trust?.trusts(peer) ?? false
  }

  knows(address: string): boolean {
    return this.#trust?.knows(address) ?? false
  }

  clientAddress(peer: string, fields: FieldSet): string {
    if (this.#trust === undefined) return peer
    return this.#trust.clientAddress(peer, allOf(fields, this.#trust.header)) ?? peer
  }

  requestId(peer: string, fields: FieldSet): string {
    const given = this.trusts(peer) ? fields.value('x-request-id') : undefined
    return given !== undefined && REQUEST_ID.test(given) ? given : `${this.#idPrefix}-${(this.#ids++).toString(36)}`
  }

  reload(table: RoutingTable): void {
    const before = this.table.upstreams
    const upstreams = openUpstreams(table, before, this)
    this.table = new Table(table, upstreams)
    this.passed = passedBy(table)
    const kept = new Set(upstreams.values())
    const old = new Set(before.values())
    for (const group of kept) if (!old.has(group)) group.start()
    for (const group of old) if (!kept.has(group)) group.retire()
  }

  setTls(listener: number, tls: GatewayTls): void {
    this.#listeners[listener]?.setTls(tls)
  }

  accept(listener: number, socket: Socket): void {
    this.#listeners[listener]?.accept(socket)
  }

  async drain(graceMs: number): Promise<void> {
    for (const listener of this.#listeners) listener.close()
    this.#connections.retire(Math.min(LAST_CALL_MS, graceMs))
    await new Promise<void>((resolve) => {
      const callOff = this.clock.after(graceMs, resolve)
      const look = (): void => {
        if (this.#exchanges.size > 0 || this.#connections.size > 0) return
        callOff()
        resolve()
      }
      this.#whenIdle = look
      this.#connections.whenEmpty = look
      look()
    })
    await this.close()
  }

  async close(): Promise<void> {
    for (const listener of this.#listeners) listener.close()
    for (const exchange of this.#exchanges.all()) exchange.stop()
    this.#connections.destroy()
    for (const group of this.table.upstreams.values()) group.destroy()
    await Promise.all(this.#listeners.map(({ closed }) => closed))
  }
}

function passedBy({ passHeaders = [] }: RoutingTable): ReadonlySet<string> {
  return new Set(passHeaders.map((name) => name.toLowerCase()))
}

/** Joins the values of a field that may be repeated. */
function allOf({ list }: FieldSet, name: string): string | undefined {
  let all: string | undefined
  for (let i = 0; i < list.length; i += 2) {
    if (list[i]?.toLowerCase() === name) all = all === undefined ? list[i + 1] : `${all},${list[i + 1]}`
  }
  return all
}
