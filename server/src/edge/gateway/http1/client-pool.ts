import type { Socket } from 'node:net'
import type { Clock } from '../../../net/clock.ts'
import { Timer, type TimerWheel } from '../../../net/timer-wheel.ts'
import type { GatewayBounds } from '../options.ts'
import type { CarrierListener, Pool } from '../sides.ts'
import { dial } from '../upstreams/dial.ts'
import type { Endpoint } from '../upstreams/endpoint.ts'
import { ClientConnection, type ConnectionOwner } from './client-connection.ts'

export interface PoolLimits {
  readonly maxConnections: number
  readonly maxWaiting: number
  readonly keepAliveMs: number
}

/** What pools share. */
export interface PoolKit {
  readonly clock: Clock
  readonly wheel: TimerWheel
  readonly bounds: GatewayBounds
}

const SWEEP_MS = 500
/** An upstream that says how long it keeps connections counts from when its answer left. */
const HINT_MARGIN_MS = 1_000

/** Keeps connections of HTTP/1.1 to one address. The most recently used one is used next. */
export class ClientPool implements Pool, ConnectionOwner {
  readonly speaksHttp2 = false
  readonly #endpoint: Endpoint
  readonly #limits: PoolLimits
  readonly #kit: PoolKit
  readonly #idle: ClientConnection[] = []
  readonly #open = new Set<ClientConnection>()
  readonly #connecting = new Set<Socket>()
  readonly #waiting = new Set<CarrierListener>()
  readonly #sweeper = new Timer(() => this.#sweep())
  #isRetired = false
  #willOpen = false

  constructor(endpoint: Endpoint, limits: PoolLimits, kit: PoolKit) {
    this.#endpoint = endpoint
    this.#limits = limits
    this.#kit = kit
  }

  get connections(): number {
    return this.#open.size + this.#connecting.size
  }

  connect(listener: CarrierListener): void {
    const connection = this.#takeIdle()
    if (connection !== undefined) {
      connection.take(listener, true)
      listener.connected(connection)
      return
    }
    const { maxWaiting, maxConnections } = this.#limits
    // Requests for which there may be a new connection do not wait for one in use.
    if (this.#waiting.size >= maxWaiting + maxConnections - this.#open.size) {
      listener.unreachable('busy', 'all connections to the upstream are in use')
      return
    }
    this.#waiting.add(listener)
    this.#openSoon()
  }

  forget(listener: CarrierListener): void {
    if (this.#waiting.delete(listener)) this.#giveUp()
  }

  retire(): void {
    this.#isRetired = true
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }

  destroy(): void {
    this.#isRetired = true
    this.#kit.wheel.clear(this.#sweeper)
    for (const socket of this.#connecting) socket.destroy()
    for (const connection of [...this.#open]) connection.destroy()
  }

  released(connection: ClientConnection, isNew = false): void {
    const [next] = this.#waiting
    if (next !== undefined) {
      this.#waiting.delete(next)
      connection.take(next, !isNew)
      next.connected(connection)
      return
    }
    if (this.#isRetired || !connection.isUsable) {
      connection.destroy()
      return
    }
    const keepMs = Math.min(this.#limits.keepAliveMs, connection.hintMs - HINT_MARGIN_MS)
    if (keepMs <= 0) {
      connection.destroy()
      return
    }
    connection.idleUntilMs = this.#kit.clock.nowMs() + keepMs
    this.#idle.push(connection)
    if (this.#sweeper.tick < 0) this.#kit.wheel.set(this.#sweeper, this.#kit.clock.nowMs() + SWEEP_MS)
  }

  gone(connection: ClientConnection): void {
    this.#open.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#openMore()
  }

  #takeIdle(): ClientConnection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      if (connection === undefined) return undefined
      if (connection.isUsable && connection.idleUntilMs > this.#kit.clock.nowMs()) return connection
      connection.destroy()
    }
  }

  /** Dials in the next turn, for requests that still wait: one that is reset immediately opens no connection. */
  #openSoon(): void {
    if (this.#willOpen) return
    this.#willOpen = true
    setImmediate(() => {
      this.#willOpen = false
      this.#openMore()
    })
  }

  #openMore(): void {
    while (this.#waiting.size > this.#connecting.size && this.connections < this.#limits.maxConnections) this.#dial()
  }

  #dial(): void {
    const socket = dial(this.#endpoint, 'http/1.1')
    this.#connecting.add(socket)
    const failed = (error?: Error): void => {
      if (!this.#connecting.delete(socket)) return
      socket.destroy()
      const [first] = this.#waiting
      if (first === undefined) return
      this.#waiting.delete(first)
      first.unreachable('failed', (error as NodeJS.ErrnoException | undefined)?.code ?? 'the connection was closed')
      this.#openMore()
    }
    socket.once('error', failed)
    socket.once('close', failed)
    socket.once(this.#endpoint.scheme === 'https' ? 'secureConnect' : 'connect', () => {
      socket.off('error', failed)
      socket.off('close', failed)
      this.#connecting.delete(socket)
      const connection = new ClientConnection(socket, this, this.#kit.bounds)
      this.#open.add(connection)
      this.released(connection, true)
    })
  }

  /** Ends connection attempts that no request waits for. */
  #giveUp(): void {
    for (const socket of this.#connecting) {
      if (this.#connecting.size <= this.#waiting.size) return
      this.#connecting.delete(socket)
      socket.destroy()
    }
  }

  #sweep(): void {
    const nowMs = this.#kit.clock.nowMs()
    for (const connection of this.#idle.filter(({ idleUntilMs }) => idleUntilMs <= nowMs)) connection.destroy()
    if (this.#idle.length > 0) this.#kit.wheel.set(this.#sweeper, nowMs + SWEEP_MS)
  }
}
