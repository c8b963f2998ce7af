import type { Priority } from 'sluice/internal/core/shedding/priority'
import type { Fields, GatewayRequest } from '../gate.ts'
import type { Route } from '../options.ts'
import { hostOf, type RequestHead } from '../request-head.ts'
import type { Found, Table } from '../routes/table.ts'
import type { Asker } from '../sides.ts'
import type { UpstreamSlot } from '../upstream-slot.ts'
import type { ExchangeHost } from './exchange-host.ts'

/** A request as a gate sees it. What a gate may never ask for is not worked out. */
export class AskedRequest implements GatewayRequest {
  protected readonly gateway: ExchangeHost
  protected readonly asker: Asker
  protected readonly head: RequestHead
  /** The route, which there is before a gate is asked. */
  protected found: Found | undefined
  protected whenLeft: (() => void) | undefined
  protected hidden: string | undefined
  readonly #table: Table
  #ip: string | undefined
  readonly id: string
  body: Buffer | undefined
  priority?: Priority
  place?: UpstreamSlot | undefined

  constructor(gateway: ExchangeHost, asker: Asker, head: RequestHead) {
    this.gateway = gateway
    this.#table = gateway.table
    this.asker = asker
    this.head = head
    this.id = gateway.requestId(asker.facts.peer, head.fields)
  }

  get method(): string {
    return this.head.method
  }
  get target(): string {
    return this.found?.target ?? this.head.target
  }
  get host(): string {
    return hostOf(this.head.authority)
  }
  get headers(): Fields {
    return this.head.fields.list
  }
  get scheme(): 'http' | 'https' {
    return this.asker.facts.scheme
  }
  get path(): string {
    return (this.found as Found).path
  }
  get otherPath(): string | undefined {
    return (this.found as Found).otherPath
  }
  get route(): Route {
    return (this.found as Found).route
  }
  get parameters(): ReadonlyMap<string, string> {
    return (this.found as Found).parameters
  }
  get ip(): string {
    this.#ip ??= this.gateway.clientAddress(this.asker.facts.peer, this.head.fields)
    return this.#ip
  }
  get isFromProxy(): boolean {
    return this.gateway.trusts(this.asker.facts.peer)
  }
  get isInside(): boolean {
    return this.gateway.knows(this.ip)
  }
  claim(priority: Priority): boolean {
    this.priority = priority
    return this.#table.upstream(this.route).takes(this.gateway.clock.nowMs(), priority)
  }
  hide(name: string): void {
    this.hidden = name
  }
  header(name: string): string | undefined {
    return this.head.fields.value(name)
  }
  onLeave(run: () => void): void {
    this.whenLeft = run
  }
}
