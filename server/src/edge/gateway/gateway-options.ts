import type { Socket } from 'node:net'
import type { ProxyTrustOptions } from 'sluice/internal/core/identity/proxy-trust'
import type { Priority } from 'sluice/internal/core/shedding/priority'
import type { Clock } from '../../net/clock.ts'
import type { GatewayGate } from './gate.ts'
import type { GatewayBounds, GatewayLog, GatewayTls, ListenerOptions, RoutingTable } from './options.ts'

/** UpstreamShedding is what happens where an upstream has as many requests as it can take. */
export interface UpstreamShedding {
  /** Requests above that are refused. Otherwise they are only counted. */
  isOn(): boolean
  /** shed is told of a request that was let through by its gate, and refused in the end. */
  shed(priority: Priority): void
}

/** An UpstreamLimit is how many requests at once an address takes, and what it has. */
export interface UpstreamLimit {
  readonly upstream: string
  readonly address: string
  readonly limit: number
  readonly inFlight: number
  readonly waiting: number
}

/** GatewayOptions are what a gateway is opened with. */
export interface GatewayOptions extends RoutingTable {
  readonly listeners: readonly ListenerOptions[]
  readonly gate: GatewayGate
  readonly bounds?: Partial<GatewayBounds>
  /** Whose Forwarded and X-Forwarded-* are kept. Default: nobody's; they are replaced by what the gateway knows. */
  readonly trust?: ProxyTrustOptions
  /** What Via calls this gateway. Default: `sluice`. */
  readonly via?: string
  readonly log?: GatewayLog
  readonly clock?: Clock
  /** Default: requests above a limit are refused, and nobody is told. */
  readonly shedding?: UpstreamShedding
}

/** GatewayAddress is where a listener listens. */
export interface GatewayAddress {
  readonly host: string
  readonly port: number
}

/** GatewayStats are what is under way, and how it went. */
export interface GatewayStats {
  readonly connections: number
  readonly requests: number
  readonly upstreamConnections: number
  readonly retries: number
  /** Bytes of heads and trailers, and of what waits behind them, that are held for clients. */
  readonly heldBytes: number
  /** Connections that were closed at once: their address, or the gateway, had as many as it may. */
  readonly connectionsRefused: number
  /** Connections that were ended because requests on them were reset again and again, and because too much was held for them. */
  readonly connectionsEndedForResets: number
  readonly connectionsEndedForBytes: number
}

/** Where a request is: what it waits for, or what of it is under way. */
export type PhaseName = 'peek' | 'gate' | 'connect' | 'send' | 'wait' | 'answer' | 'tunnel' | 'done'

/** RequestUnderWay says how far a request has come, and why it may not be going on. */
export interface RequestUnderWay {
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

/** ConnectionUnderWay says what a client's connection is doing, and why it may not have closed. */
export interface ConnectionUnderWay {
  readonly peer: string
  /** Undefined before its first bytes, or its handshake, have told. */
  readonly version: 'HTTP/1' | 'HTTP/2' | undefined
  /** It has asked for nothing yet, waits for its next request, or has one that is not over. */
  readonly use: 'none' | 'idle' | 'busy'
  /** Of HTTP/2: those that are open, which may be more than the requests. */
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

/** A Gateway is a reverse proxy that runs. */
export interface Gateway {
  readonly addresses: readonly GatewayAddress[]
  readonly stats: GatewayStats
  /** upstreamLimits are those of addresses that have one. */
  upstreamLimits(): readonly UpstreamLimit[]
  /** underWay tells what every request that has not ended is doing. */
  underWay(): readonly RequestUnderWay[]
  /** connectionsUnderWay tells what every connection of a client is doing. */
  connectionsUnderWay(): readonly ConnectionUnderWay[]
  /** reload checks a table and swaps it in one step; what is wrong with it is thrown, and the old one stays. */
  reload(table: RoutingTable): void
  /** setTls has new connections to a listener see another certificate. */
  setTls(listener: number, tls: GatewayTls): void
  /** accept treats a connection that came another way as one to this listener. */
  accept(listener: number, socket: Socket): void
  /** drain accepts no more, lets requests end for up to `graceMs`, then ends what is left. */
  drain(graceMs: number): Promise<void>
  close(): Promise<void>
}
