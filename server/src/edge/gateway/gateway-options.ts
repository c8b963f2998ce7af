import type { Socket } from 'node:net'
import type { ProxyTrustOptions } from 'sluice/internal/core/identity/proxy-trust'
import type { Priority } from 'sluice/internal/core/shedding/priority'
import type { Clock } from '../../net/clock.ts'
import type { GatewayGate } from './gate.ts'
import type { GatewayBounds, GatewayLog, GatewayTls, ListenerOptions, RoutingTable } from './options.ts'

/** What happens where an upstream has as many requests as it can take. */
export interface UpstreamShedding {
  /** Requests above that are refused. Otherwise they are only counted. */
  isOn(): boolean
  /** Called for a request that its gate admitted but that was refused in the end. */
  shed(priority: Priority): void
}

/** How many concurrent requests an address takes, and how many it has. */
export interface UpstreamLimit {
  readonly upstream: string
  readonly address: string
  readonly limit: number
  readonly inFlight: number
  readonly waiting: number
}

/** What a gateway is opened with. */
export interface GatewayOptions extends RoutingTable {
  readonly listeners: readonly ListenerOptions[]
  readonly gate: GatewayGate
  readonly bounds?: Partial<GatewayBounds>
  /**
   * The proxies whose Forwarded and X-Forwarded-* are kept. Default: none; they are replaced by what the gateway knows.
   */
  readonly trust?: ProxyTrustOptions
  /** What Via calls this gateway. Default: `sluice`. */
  readonly via?: string
  readonly log?: GatewayLog
  readonly clock?: Clock
  /** Default: requests above a limit are refused without an event. */
  readonly shedding?: UpstreamShedding
}

/** Where a listener listens. */
export interface GatewayAddress {
  readonly host: string
  readonly port: number
}

/** What is in flight, and how it went. */
export interface GatewayStats {
  readonly connections: number
  readonly requests: number
  readonly upstreamConnections: number
  readonly retries: number
  /** Bytes of heads and trailers, and of what waits behind them, that are held for clients. */
  readonly heldBytes: number
  /** Connections that were closed immediately, because their address or the gateway had too many. */
  readonly connectionsRefused: number
  /**
   * Connections that were ended because requests on them were reset again and again, and because too much was held for
   * them.
   */
  readonly connectionsEndedForResets: number
  readonly connectionsEndedForBytes: number
}

/** Where a request is: what it waits for, or which part is in flight. */
export type PhaseName = 'peek' | 'gate' | 'connect' | 'send' | 'wait' | 'answer' | 'tunnel' | 'done'

/** How far a request has come, and why it may be stuck. */
export interface RequestInFlight {
  readonly id: string
  readonly method: string
  readonly target: string
  /** How the client asks. */
  readonly version: '1.0' | '1.1' | '2.0'
  readonly phase: PhaseName
  /** Connections to upstreams that were asked for. */
  readonly tries: number
  readonly bodyBytes: number
  readonly isBodyEnded: boolean
  /** The client, or the upstream, is not read from, because the other side is slow. */
  readonly isClientPaused: boolean
  readonly isUpstreamPaused: boolean
  /** Since the last byte, or the begin of the phase. */
  readonly idleMs: number
}

/** What a client's connection is doing, and why it may not have closed. */
export interface ConnectionInFlight {
  readonly peer: string
  /** Undefined before its first bytes, or its handshake, have shown it. */
  readonly version: 'HTTP/1' | 'HTTP/2' | undefined
  /** It has asked for nothing yet, waits for its next request, or has one that is not over. */
  readonly use: 'none' | 'idle' | 'busy'
  /** For HTTP/2: open streams, which may be more than the requests. */
  readonly streams: number
  readonly isPaused: boolean
  /** The client has ended its side; we have ended ours. */
  readonly hasClientEnded: boolean
  readonly hasEnded: boolean
  readonly bytesRead: number
  readonly bytesWritten: number
  /** Bytes that the client has not taken yet. */
  readonly bytesWaiting: number
}

/** A reverse proxy that runs. */
export interface Gateway {
  readonly addresses: readonly GatewayAddress[]
  readonly stats: GatewayStats
  /** Returns the limits of addresses that have one. */
  upstreamLimits(): readonly UpstreamLimit[]
  /** Lists what every unfinished request is doing. */
  inFlight(): readonly RequestInFlight[]
  /** Lists what every connection of a client is doing. */
  connectionsInFlight(): readonly ConnectionInFlight[]
  /** Checks a table and swaps it in one step; what is wrong with it is thrown, and the old one stays. */
  reload(table: RoutingTable): void
  /** Has new connections to a listener see another certificate. */
  setTls(listener: number, tls: GatewayTls): void
  /** Treats a connection that came another way as one to this listener. */
  accept(listener: number, socket: Socket): void
  /** Stops accepting, lets requests end for up to `graceMs`, then ends the rest. */
  drain(graceMs: number): Promise<void>
  close(): Promise<void>
}
