import type { SecureContextOptions } from 'node:tls'
import type { ClientBounds } from '../../net/client-budgets.ts'

/** The time limits of each phase of a request, in milliseconds. */
export interface RouteTimes {
  /** From asking for a connection to the upstream to having one. 5 s. */
  readonly connectMs: number
  /** Between two pieces of a request's body that the upstream would take. 30 s. */
  readonly bodyIdleMs: number
  /** From the last byte of the request to the head of the answer. 60 s. */
  readonly firstByteMs: number
  /** Without a byte in either direction once the answer has begun; for WebSockets and streams of events too. 5 min. */
  readonly idleMs: number
  /** From the head of the request to the end of the answer; 0 is no bound. 0. */
  readonly totalMs: number
}

export const DEFAULT_TIMES: RouteTimes = Object.freeze({
  connectMs: 5_000,
  bodyIdleMs: 30_000,
  firstByteMs: 60_000,
  idleMs: 300_000,
  totalMs: 0,
})

/** Leads requests to an upstream. Of several that fit, the most exact host, then the most exact path wins. */
export interface Route {
  /** What logs and metrics call it. */
  readonly name: string
  /** `api.example.com`, `*.example.com` (at any depth) or `*`. Default: `*`. */
  readonly host?: string
  /** `/users/{id}/posts`, or `/files/*` for everything below; a segment is a text, `{name}` or, at the end, `*`. */
  readonly path: string
  /** Default: every method but CONNECT and TRACE. GET includes HEAD. */
  readonly methods?: readonly string[]
  readonly upstream: string
  readonly times?: Partial<RouteTimes>
  /** The most bytes of a request's body; above it 413. Default: 10 MiB. */
  readonly maxBodyBytes?: number
  /** So much of the body is read before the gate decides (GatewayGate.enter, admit). At most 65,536. Default: 0. */
  readonly peekBytes?: number
  /** Tries in addition to the first, for safe methods without a body. Default: 1. */
  readonly retries?: number
  /** /Login is another path than /login. Default: false, because many routers do not look at case. */
  readonly caseSensitive?: boolean
  /** What becomes of %2F and %5C in a path: 400, or they are a part of their segment. Default: refuse. */
  readonly encodedSlashes?: 'refuse' | 'keep'
  /** The path that the upstream gets: the path that selected the route, or the client's. Default: canonical. */
  readonly forwardPath?: 'canonical' | 'as_sent'
}

export interface HealthCheck {
  readonly path: string
  readonly everyMs?: number
  readonly timeoutMs?: number
  /** This many in a row take an address out, and this many bring it back. Defaults: 3 and 2. */
  readonly failures?: number
  readonly successes?: number
}

/** The default number of connections to each address of an upstream. */
export const DEFAULT_CONNECTIONS = 256

/** A service at one or several addresses. */
export interface Upstream {
  /** `http://host:port` or `https://host:port`. */
  readonly addresses: readonly string[]
  /**
   * The upstream speaks HTTP/2: over TLS by ALPN, in plain text with prior knowledge. Required for gRPC. Default:
   * false.
   */
  readonly http2?: boolean
  /** For https: authorities, and a client certificate. Certificates are always verified. */
  readonly tls?: Pick<SecureContextOptions, 'ca' | 'cert' | 'key'> & { readonly servername?: string }
  readonly health?: HealthCheck
  /** To each address. Default: 256. */
  readonly maxConnections?: number
  /** Requests that wait for a connection, for each address; more are answered 503. Default: 256. */
  readonly maxWaiting?: number
  /** Idle connections are closed after this, or 1 s before what the upstream says. Default: 4 s. */
  readonly keepAliveMs?: number
  /** This many failures in a row take an address out for a time; 0 is never. Default: 5. */
  readonly ejectAfter?: number
  /**
   * The adaptive limit of concurrent requests to an address, derived from how long they take; undefined for none. With
   * `startsOpen` it is the maximum until the first answers have shown how long they take.
   */
  readonly adaptive?: { readonly min: number; readonly max: number; readonly startsOpen?: boolean }
}

/** What a reload swaps, in one step. Requests that run keep the table they began with. */
export interface RoutingTable {
  readonly routes: readonly Route[]
  readonly upstreams: Readonly<Record<string, Upstream>>
  /** Fields that applications believe and clients may send, too (docs/gateway.md). Default: none. */
  readonly passHeaders?: readonly string[]
}

/** A certificate, and the authority that must have signed client certificates. */
export interface GatewayTls extends SecureContextOptions {
  readonly requestCert?: boolean
  readonly rejectUnauthorized?: boolean
}

/** A port that takes HTTP/1.1 and HTTP/2: by ALPN with TLS, by the first bytes without. */
export interface ListenerOptions {
  /** Without it, connections come through `accept` alone. */
  readonly port?: number
  readonly host?: string
  readonly tls?: GatewayTls
}

/** What all clients together, and each of them, may take. Budgets of an address do not hold for trusted proxies. */
export interface GatewayBounds extends ClientBounds {
  /** Connections of clients; for more, unused ones of the address with the most have to leave. 10,000. */
  readonly maxConnections: number
  /** Connections of one address; more are closed immediately. 1,000. */
  readonly maxConnectionsPerAddress: number
  /** Requests in flight; more are answered 503. 20,000. */
  readonly maxRequests: number
  /**
   * Requests whose bodies are waited for to look into them; for more, some of the address with the most are answered
   * 503. 1,024.
   */
  readonly maxAwaitedBodies: number
  /** Streams of one HTTP/2 connection. 128. */
  readonly maxStreams: number
  /** The head of a request, its trailers, and the head of an answer. 65,536. */
  readonly maxHeaderBytes: number
  /** Fields of the head of a request. 256. */
  readonly maxHeaders: number
  /** Fields of the head of an answer. 2,000. */
  readonly maxAnswerHeaders: number
  /** From connecting, or the first byte of a request, to the end of its head; 408. 10 s. */
  readonly headMs: number
  /** Between two requests on one connection. 75 s. */
  readonly keepAliveMs: number
  /**
   * Work that begins in one turn of the event loop, by address in rotation: a request is 1 and 1 more for each 32
   * fields of HTTP/2, a new connection 4, and one of TLS 16. 64.
   */
  readonly unitsPerTurn: number
}

export const DEFAULT_GATEWAY_BOUNDS: GatewayBounds = Object.freeze({
  maxConnections: 10_000,
  maxConnectionsPerAddress: 1_000,
  maxRequests: 20_000,
  maxAwaitedBodies: 1_024,
  maxStreams: 128,
  maxHeaderBytes: 65_536,
  maxHeaders: 256,
  maxAnswerHeaders: 2_000,
  headMs: 10_000,
  keepAliveMs: 75_000,
  unitsPerTurn: 64,
  maxHeldBytes: 134_217_728,
  maxHeldBytesPerAddress: 33_554_432,
  maxHeldBytesPerConnection: 1_048_576,
  resets: { burst: 1_000, perSecond: 1_000 },
  resetsPerAddress: { burst: 100, perSecond: 33 },
  resetsPerConnection: { burst: 10, perSecond: 10 },
})

/** What the gateway needs of a log. */
export interface GatewayLog {
  info(event: string, message: string): void
  warn(event: string, message: string): void
  error(event: string, message: string): void
}
