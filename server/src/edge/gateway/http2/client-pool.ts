import { type ClientHttp2Session, connect } from 'node:http2'
import { isIP } from 'node:net'
import type { PoolKit, PoolLimits } from '../http1/client-pool.ts'
import type { CarrierListener, Pool } from '../sides.ts'
import type { Endpoint } from '../upstreams/endpoint.ts'
import { StreamCarrier } from './stream-carrier.ts'

/** Streams on one connection, whatever the upstream allows. */
const MAX_STREAMS = 100
/** Connections to one address are few: each carries many streams. */
const MAX_SESSIONS = 8

interface Line {
  readonly session: ClientHttp2Session
  streams: number
  isConnected: boolean
  hasCarried: boolean
}

/** Http2Pool keeps connections of HTTP/2 to one address. The oldest that has room is used. */
export class Http2Pool implements Pool {
  readonly speaksHttp2 = true
  readonly #endpoint: Endpoint
  readonly #limits: PoolLimits
  readonly #kit: PoolKit
  readonly #lines = new Set<Line>()
  readonly #waiting = new Set<CarrierListener>()
  #isRetired = false

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
    if (!isDialing && this.#lines.size < most) this.#dial()
  }

  forget(listener: CarrierListener): void {
    this.#waiting.delete(listener)
    if (this.#waiting.size > 0) return
    for (const line of this.#lines) if (!line.isConnected) line.session.destroy()
  }

  retire(): void {
    this.#isRetired = true
    for (const { session } of this.#lines) session.close()
  }

  destroy(): void {
    this.#isRetired = true
    for (const { session } of this.#lines) session.destroy()
  }

  #withRoom(): Line | undefined {
    for (const line of this.#lines) {
      const { session, isConnected, streams } = line
      const most = Math.min(session.remoteSettings?.maxConcurrentStreams ?? MAX_STREAMS, MAX_STREAMS)
      if (isConnected && !session.closed && !session.destroyed && streams < most) return line
    }
    return undefined
  }

  #give(line: Line, listener: CarrierListener): void {
    line.streams++
    let isOpen = true
    const carrier = new StreamCarrier(line.session, line.hasCarried, listener, () => {
      if (!isOpen) return
      isOpen = false
      line.streams--
      if (this.#isRetired && line.streams === 0) line.session.close()
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

  #dial(): void {
    const { url, tls, host } = this.#endpoint
    const { maxHeaders, maxHeaderBytes } = this.#kit.bounds
    const session = connect(url, {
      ...tls,
      servername: tls?.servername ?? (isIP(host) === 0 ? host : ''),
      maxHeaderListPairs: maxHeaders,
      maxSendHeaderBlockLength: 4 * maxHeaderBytes,
      peerMaxConcurrentStreams: MAX_STREAMS,
      settings: { enablePush: false, maxHeaderListSize: maxHeaderBytes, initialWindowSize: 65_535 },
    })
    const line: Line = { session, streams: 0, isConnected: false, hasCarried: false }
    this.#lines.add(line)
    let reason = 'the connection was closed'
    session.on('error', (error: NodeJS.ErrnoException) => {
      reason = error.code ?? reason
    })
    session.on('connect', () => {
      line.isConnected = true
      this.#serveWaiting()
    })
    session.on('remoteSettings', () => this.#serveWaiting())
    session.setTimeout(this.#limits.keepAliveMs, () => {
      if (line.streams === 0) session.close()
    })
    session.on('close', () => this.#lost(line, reason))
  }

  /** #lost lets those fail that wait for a connection that never came to be, and dials again for the others. */
  #lost(line: Line, reason: string): void {
    this.#lines.delete(line)
    if (!line.isConnected) {
      const waiting = [...this.#waiting]
      this.#waiting.clear()
      for (const listener of waiting) listener.unreachable('failed', reason)
      return
    }
    if (this.#waiting.size > 0 && this.#withRoom() === undefined && !this.#isRetired) this.#dial()
  }
}
