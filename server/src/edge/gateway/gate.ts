import type { Priority } from 'sluice/internal/core/shedding/priority'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Route } from './options.ts'

/** Header or trailer fields as they came: name, value, name, value. Names have the case of their sender. */
export type Fields = readonly string[]

/** What a gate decides about. It is valid until the admission has ended. */
export interface GatewayRequest {
  readonly method: string
  /**
   * The canonical path, without the query, that the route was found by: in lower case, unless the route looks at case.
   */
  readonly path: string
  /**
   * The same with path parameters (`;a=1`), where the request has some: upstreams read it in the one or the other way.
   */
  readonly otherPath?: string | undefined
  /** The target as it goes to the upstream: path and query. */
  readonly target: string
  /** In lower case, without the port. */
  readonly host: string
  /** Every field that came, hop-by-hop ones included; in HTTP/2 without pseudo-headers. */
  readonly headers: Fields
  /** The client's address: the peer's, or what trusted proxies say. */
  readonly ip: string
  /** Whether the peer is a trusted proxy. */
  readonly isFromProxy: boolean
  /** Whether the client itself, and not only who passes its requests on, has an address that is trusted by name. */
  readonly isInside: boolean
  readonly scheme: 'http' | 'https'
  readonly route: Route
  /** What `{name}` stands for in the route's path. */
  readonly parameters: ReadonlyMap<string, string>
  /** The id under which the upstream, the answer and logs know the request. */
  readonly id: string
  /** The first `peekBytes` of the body, where the route needs them. Undefined before they have arrived. */
  readonly body: Buffer | undefined
  /** Returns the first field of this name (in lower case). */
  header(name: string): string | undefined
  /**
   * Returns how much the request matters to its upstream, and returns whether that takes it now: false is a request to
   * shed. What is let through all the same is counted, and may be refused in the end.
   */
  claim(priority: Priority): boolean
  /** Keeps a field from the upstream, by its name in lower case. At most one is kept. */
  hide(name: string): void
  /** Calls back once if the client leaves while the gate still thinks. At most one is kept. */
  onLeave(run: () => void): void
}

/**
 * How an admitted request ended. `abort`: the client left, or exceeded a timeout or bound. `unserved`: the upstream was
 * full, and has not received it.
 */
export type EndKind = 'finish' | 'abort' | 'upstream-error' | 'unserved'

/** A refusal by the gate, sent as it is; nothing reaches the upstream. */
export interface GateRefusal {
  readonly kind: 'refused'
  readonly status: number
  /** Without framing: Content-Length is added. */
  readonly headers: Fields
  readonly body: string | Buffer
}

/** Lets a request through. What hangs on it (permits, costs) ends with `ended`. */
export interface Pass {
  readonly kind: 'admitted'
  /** What the answer has in addition. Fields of these names that the upstream sends are replaced. */
  readonly headers?: Fields
  /** Hears the final status of the upstream, or of the gateway's own error, at most once and before `ended`. */
  responded?(status: number, headers: Fields): void
  /** Receives each piece of the answer's body, in order. It must not keep or change it. */
  heard?(chunk: Buffer): void
  /** Called exactly once for every Pass, whatever happens. */
  ended(kind: EndKind): void
}

export type Admission = GateRefusal | Pass

/** Decides which requests reach an upstream. What it throws is answered 500. */
export interface GatewayGate {
  /** Called first, when nothing of the body has been read: refuses requests that are not worth looking at. */
  before?(request: GatewayRequest): GateRefusal | undefined
  /**
   * Decides about a request whose body the route inspects, and which has not arrived with its head. The body of an
   * admitted request is read, and then `admit` is called. Without it, nothing is decided before the body is there.
   */
  enter?(request: GatewayRequest): MaybePromise<Admission>
  /** Decides about a request. `entered` is the Pass of enter: it is returned, or was given up by the gate. */
  admit(request: GatewayRequest, entered?: Pass): MaybePromise<Admission>
}

const PASS: Pass = Object.freeze({ kind: 'admitted', ended: () => {} })

/** Lets everything through. */
export const openGate: GatewayGate = Object.freeze({ admit: () => PASS })
