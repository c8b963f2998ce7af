import type { BudgetName } from './budgets.ts'

/** Names the reasons for which we end a connection that its client would have kept. */
export type ClosedFor =
  | BudgetName
  /** Header blocks in too many frames, or too large. */
  | 'continuations'
  /** Anything else that RFC 9113 calls a connection error. */
  | 'protocolErrors'
  /** Answers queued without end, or without progress, for a client that opens no window. */
  | 'stalledWindow'
  /** Answers unread without end, or without progress. */
  | 'unreadOutput'
  | 'slowPreface'
  | 'slowFrame'
  /** All places were taken, and its address had the most; see Crowds. */
  | 'crowd'
  /** The server held too much, and the most of it for this client. */
  | 'memory'
  | 'idle'
  | 'age'

/** The counters of a server: plain numbers that only grow, except the ones that are `open` or `held`. */
export interface GrpcStats {
  readonly connectionsOpen: number
  readonly connections: number
  /** Connections that were closed immediately because there were too many, or the server was draining. */
  readonly connectionsRefused: number
  readonly streamsOpen: number
  readonly streams: number
  /** Streams visited because of a frame that concerns a whole connection: the work that grows fastest. */
  readonly streamsWalked: number
  /** Bytes held for clients at this moment: requests, answers that wait, and what a call or a table takes. */
  readonly bytesHeld: number
  /** Calls that reached a handler. */
  readonly calls: number
  /** Calls that were answered OK. */
  readonly callsAnswered: number
  /** Calls that were answered with another status than OK, by a handler or for it. */
  readonly callsFailed: number
  /** Calls that ended before their answer: by the client, by its connection, or by their deadline. */
  readonly callsCancelled: number
  readonly deadlinesExceeded: number
  /** TLS handshakes that failed, and clients that did not ask for "h2". */
  readonly tlsFailures: number
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly writes: number
  readonly closedFor: Readonly<Record<ClosedFor, number>>
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** The same numbers, as the server itself sees them. */
export type Counters = Writable<Omit<GrpcStats, 'closedFor'>> & { readonly closedFor: Record<ClosedFor, number> }

export function newCounters(): Counters {
  return {
    connectionsOpen: 0,
    connections: 0,
    connectionsRefused: 0,
    streamsOpen: 0,
    streams: 0,
    streamsWalked: 0,
    bytesHeld: 0,
    calls: 0,
    callsAnswered: 0,
    callsFailed: 0,
    callsCancelled: 0,
    deadlinesExceeded: 0,
    tlsFailures: 0,
    bytesRead: 0,
    bytesWritten: 0,
    writes: 0,
    closedFor: {
      resets: 0,
      provokedResets: 0,
      largeHeaders: 0,
      pings: 0,
      settings: 0,
      priorities: 0,
      emptyData: 0,
      unknownFrames: 0,
      continuations: 0,
      protocolErrors: 0,
      stalledWindow: 0,
      unreadOutput: 0,
      slowPreface: 0,
      slowFrame: 0,
      crowd: 0,
      memory: 0,
      idle: 0,
      age: 0,
    },
  }
}
