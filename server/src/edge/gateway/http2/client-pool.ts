import { type ClientHttp2Session, connect } from 'node:http2'
import type { Socket } from 'node:net'
import { Timer } from '../../../net/timer-wheel.ts'
import type { PoolKit, PoolLimits } from '../http1/client-pool.ts'
import type { CarrierListener, Pool } from '../sides.ts'
import { dial } from '../upstreams/dial.ts'
import type { Endpoint } from '../upstreams/endpoint.ts'
import { StreamCarrier } from './stream-carrier.ts'

/** Streams on one connection, whatever the upstream allows. */
const MAX_STREAMS = 100
/** Connections to one address are few: each carries many streams. */
const MAX_SESSIONS = 8
/** How long a connection that is to end may take. An upstream that does not read would keep it without end. */
const END_MS = 1_000
/**
 * A connection that said nothing at all for this long, while a request waited that was given up then, gets no other.
 */
const SILENT_MS = 5_000

interface Line {
  readonly session: ClientHttp2Session
  /** Our own: a session waits with its end until its last write is done. */
  readonly socket: Socket
  /** Of an idle connection: until it is ended. Of one that is to end: until it is cut. */
  readonly timer: Timer
  streams: number
  isConnected: boolean
  hasCarried: boolean
  isEnding: boolean
}

/** Keeps connections of HTTP/2 to one address. The oldest that has room is used. */
export class Http2Pool implements Pool {
  readonly speaksHttp2 = true
  readonly #endpoint: Endpoint
  readonly #limits: PoolLimits
  readonly #kit: PoolKit
  readonly #lines = new Set<Line>()
  readonly #waiting = new Set<CarrierListener>()
  #isRetired = false
  #willDial = false

  constructor(endpoint: Endpoint, limits: PoolLimits, kit: PoolKit) {
    this.#endpoint = endpoint
    this.#limits = limits
    this.#kit = kit
  }

  get connections(): number {
    return this.#lines.size
  }

  connect(listener: CarrierListener): void {
    const line = this.#withRoom()
    if (line !== undefined) {
      this.#give(line, listener)
      return
    }
    const isDialing = [...this.#lines].some(({ isConnected }) => !isConnected)
    const most = Math.min(this.#limits.maxConnections, MAX_SESSIONS)
    if (this.#waiting.size >= this.#limits.maxWaiting) {
      listener.unreachable('busy', 'all streams to the upstream are in use')
      return
    }
    this.#waiting.add(listener)
    if (!isDialing && this.#lines.size < most) this.#dialSoon()
  }

  forget(listener: CarrierListener): void {
    this.#waiting.delete(listener)
    if (this.#waiting.size > 0) return
    for (const line of this.#lines) if (!line.isConnected) this.#cut(line)
  }

  retire(): void {
    this.#isRetired = true
    for (const line of this.#lines) this.#end(line)
  }

  destroy(): void {
    this.#isRetired = true
    for (const line of this.#lines) this.#cut(line)
  }

  #withRoom(): Line | undefined {
    for (const line of this.#lines) {
      const { session, isConnected, isEnding, streams } = line
      const most = Math.min(session.remoteSettings?.maxConcurrentStreams ?? MAX_STREAMS, MAX_STREAMS)
      if (isConnected && !isEnding && !session.closed && !session.destroyed && streams < most) return line
    }
    return undefined
  }

  #give(line: Line, listener: CarrierListener): void {
    line.streams++
    this.#kit.wheel.clear(line.timer)
    const { socket } = line
    const [sentMs, heardBytes] = [this.#kit.clock.nowMs(), socket.bytesRead]
    let isOpen = true
    const carrier = new StreamCarrier(line.session, line.hasCarried, listener, () => {
      if (!isOpen) return
      isOpen = false
      line.streams--
      const isSilent = socket.bytesRead === heardBytes && this.#kit.clock.nowMs() - sentMs >= SILENT_MS
      if (line.isEnding || isSilent) this.#end(line)
      else if (line.streams === 0) this.#keep(line)
      this.#serveWaiting()
    })
    line.hasCarried = true
    listener.connected(carrier)
  }

  #serveWaiting(): void {
    for (;;) {
      const [next] = this.#waiting
      const line = next === undefined ? undefined : this.#withRoom()
      if (next === undefined || line === undefined) return
      this.#waiting.delete(next)
      this.#give(line, next)
    }
  }

  /** Dials in the next turn, if a request still waits: one that is reset immediately opens no connection. */
  #dialSoon(): void {
    if (this.#willDial) return
    this.#willDial = true
    setImmediate(() => {
      this.#willDial = false
      if (this.#waiting.size > 0) this.#dial()
    })
  }

  #dial(): void {
    const { maxAnswerHeaders, maxHeaderBytes } = this.#kit.bounds
    const socket = dial(this.#endpoint, 'h2')
    const session = connect(this.#endpoint.url, {
      createConnection: () => socket,
      maxHeaderListPairs: maxAnswerHeaders,
      maxSendHeaderBlockLength: 4 * maxHeaderBytes,
      peerMaxConcurrentStreams: MAX_STREAMS,
      settings: { enablePush: false, maxHeaderListSize: maxHeaderBytes, initialWindowSize: 65_535 },
    })
    const timer = new Timer(() => (line.isEnding ? this.#cut(line) : this.#end(line)))
    const line: Line = { session, socket, timer, streams: 0, isConnected: false, hasCarried: false, isEnding: false }
    this.#lines.add(line)
    let reason = 'the connection was closed'
    session.on('error', (error: NodeJS.ErrnoException) => {
      reason = error.code ?? reason
    })
    session.on('connect', () => {
      line.isConnected = true
      this.#serveWaiting()
      if (line.streams === 0) this.#keep(line)
    })
    session.on('remoteSettings', () => this.#serveWaiting())
    session.on('close', () => this.#lost(line, reason))
  }

  /** Keeps an idle connection for the next request, for a while. */
  #keep(line: Line): void {
    const { wheel, clock } = this.#kit
    wheel.set(line.timer, clock.nowMs() + this.#limits.keepAliveMs)
  }

  /** Ends a connection as soon as its requests are over. It carries no other. */
  #end(line: Line): void {
    line.isEnding = true
    line.session.close()
    const { wheel, clock } = this.#kit
    if (line.streams === 0 && this.#lines.has(line)) wheel.set(line.timer, clock.nowMs() + END_MS)
  }

  /** Ends a connection now, whatever is on it. */
  #cut({ session, socket }: Line): void {
    session.destroy()
    socket.destroy()
  }

  /** Lets those fail that wait for a connection that never came to be, and dials again for the others. */
  #lost(line: Line, reason: string): void {
    this.#lines.delete(line)
    this.#kit.wheel.clear(line.timer)
    if (!line.isConnected) {
      const waiting = [...this.#waiting]
      this.#waiting.clear()
      for (const listener of waiting) listener.unreachable('failed', reason)
      return
    }
    if (this.#waiting.size > 0 && this.#withRoom() === undefined && !this.#isRetired) this.#dial()
  }
}
