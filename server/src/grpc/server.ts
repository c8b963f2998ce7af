import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { type Clock, systemClock } from '../net/clock.ts'
import { Crowds } from '../net/crowds.ts'
import { HeldBytes } from '../net/held-bytes.ts'
import { Timer, TimerWheel } from '../net/timer-wheel.ts'
import type { StreamHandler, UnaryHandler } from './call.ts'
import { Connection, type ConnectionHost } from './connection.ts'
import { type GrpcLimitOptions, type GrpcLimits, resolveLimits } from './limits.ts'
import { type GrpcAddress, type GrpcTlsOptions, Listener, type ListenerOwner, type ListenOptions } from './listener.ts'
import { endsOf, Newcomer } from './newcomer.ts'
import { BufferPool } from './output-buffer.ts'
import { addressOf } from './peer.ts'
import { bareHead, HeadReader } from './request-head.ts'
import type { Route } from './route.ts'
import { type GrpcStats, newCounters } from './stats.ts'
import { Unpacking } from './unpacking.ts'

export interface GrpcServerOptions {
  /** What clients may ask of the server; every limit has a default. */
  readonly limits?: GrpcLimitOptions
  /** With a certificate, TCP ports speak TLS. Unix sockets never do. */
  readonly tls?: GrpcTlsOptions
  /** Called with what a handler throws, and the path of its method. Without it, a warning of the process. */
  readonly onError?: (error: unknown, path: string) => void
  readonly clock?: Clock
}

const SWEEP_MS = 1_000
const PATH = /^\/[^/\s]+\/[^/\s]+$/

/** Answers unary and server-streaming calls over HTTP/2, on TCP ports, TLS and Unix sockets. */
export class GrpcServer {
  readonly #limits: GrpcLimits
  readonly #clock: Clock
  readonly #counters = newCounters()
  readonly #routes = new Map<string, Route>()
  /** Each with what takes it out of its crowd. */
  readonly #connections = new Map<Connection, () => void>()
  /** Sockets in a TLS handshake, by their two ends: the socket that comes out of it is another object. */
  readonly #newcomers = new Map<string, Newcomer>()
  readonly #crowds: Crowds
  readonly #held: HeldBytes
  readonly #listeners = new Set<Listener>()
  /** Has no address: it takes what `accept` is given. */
  #handed: Listener | undefined
  readonly #wheel: TimerWheel
  readonly #sweepTimer = new Timer(() => this.#sweep())
  readonly #host: ConnectionHost
  readonly #onError: (error: unknown, path: string) => void
  #tls: GrpcTlsOptions | undefined
  #dirty: Connection[] = []
  #isClosing = false
  #onEmpty: (() => void)[] = []

  constructor(options: GrpcServerOptions = {}) {
    this.#limits = resolveLimits(options.limits)
    this.#crowds = new Crowds(this.#limits.maxConnections)
    this.#held = new HeldBytes(this.#limits.maxHeldBytes, () => this.#connections.keys())
    this.#clock = options.clock ?? systemClock
    this.#tls = options.tls
    this.#onError = options.onError ?? warn
    this.#wheel = new TimerWheel(this.#clock)
    this.#host = this.#makeHost()
  }

  /** Registers a method that answers a message with a message. */
  unary(path: string, handler: UnaryHandler): this {
    return this.#register(path, handler)
  }

  /** Registers a method that answers a message with any number of them. */
  serverStreaming(path: string, handler: StreamHandler): this {
    return this.#register(path, handler)
  }

  #register(path: string, handler: Route['handler']): this {
    if (!PATH.test(path))
      throw new RangeError(`${JSON.stringify(path)}: the path of a method must be "/package.Service/Method"`)
    if (this.#routes.has(path)) throw new RangeError(`${path} is already registered: a method has only one handler`)
    this.#routes.set(path, { path, handler, bareHead: bareHead({ path, handler }) })
    return this
  }

  /** Accepts connections on one more address, and resolves to it. */
  async listen(options: ListenOptions): Promise<GrpcAddress> {
    if (this.#isClosing) throw new Error('the server is closed; create a new one')
    const listener = this.#listener('path' in options)
    const address = await listener.listen(options)
    if (this.#isClosing) listener.close()
    else this.#listeners.add(listener)
    return address
  }

  /** Has new connections see another certificate. The server must have had one from the start. */
  setTls(options: GrpcTlsOptions): void {
    if (this.#tls === undefined) throw new Error('the server has no TLS: pass a certificate when you create it')
    this.#tls = options
    for (const listener of this.#listeners) listener.setTls(options)
  }

  /**
   * Serves a connection that another process accepted. It speaks TLS where the server has a certificate, and the
   * connection is not that of a Unix socket.
   */
  accept(socket: Socket, isUnix = false): void {
    const isPlain = isUnix || this.#tls === undefined
    // Like connections of our ports: the socket of another process has whatever options that process set.
    socket.allowHalfOpen = isPlain
    if (isPlain) this.addConnection(socket)
    else {
      this.#handed ??= this.#listener(false)
      this.#listeners.add(this.#handed)
      this.#handed.accept(socket)
    }
  }

  /** Serves a connection that was accepted elsewhere, TLS and all. */
  addConnection(socket: Duplex): void {
    if (socket.destroyed || !this.#hasRoom(socket)) {
      this.#counters.connectionsRefused++
      socket.destroy()
      return
    }
    this.#counters.connections++
    this.#counters.connectionsOpen++
    if (this.#connections.size === 0) this.#sweepIn(SWEEP_MS)
    const connection = new Connection(socket, this.#host)
    this.#connections.set(connection, this.#crowds.add(addressOf(socket), connection))
  }

  /** Returns the counters of the server, live. */
  get stats(): GrpcStats {
    return this.#counters
  }

  /**
   * Accepts no more connections and has the others end once their calls are answered, or when graceMs have passed. It
   * resolves when all have ended.
   */
  drain(graceMs: number): Promise<void> {
    this.#stopListening()
    for (const connection of [...this.#connections.keys()]) connection.drain(graceMs)
    if (this.#connections.size > 0) this.#sweepIn(Math.min(graceMs, SWEEP_MS))
    return this.#whenEmpty()
  }

  /** Ends some connections as drain does, the oldest first: their clients reconnect, perhaps elsewhere. */
  shed(count: number, graceMs: number): void {
    for (const connection of [...this.#connections.keys()].slice(0, count)) connection.drain(graceMs)
  }

  /** Ends everything immediately. */
  close(): Promise<void> {
    this.#stopListening()
    for (const connection of [...this.#connections.keys()]) connection.close()
    return this.#whenEmpty()
  }

  #listener(isUnix: boolean): Listener {
    const tls = this.#tls
    const setup = { options: tls ?? {}, handshakeTimeoutMs: this.#limits.prefaceTimeoutMs }
    return new Listener(this.#owner, tls === undefined || isUnix ? undefined : setup)
  }

  #stopListening(): void {
    this.#isClosing = true
    for (const listener of this.#listeners) listener.close()
    this.#listeners.clear()
    for (const newcomer of this.#newcomers.values()) newcomer.leave()
  }

  #whenEmpty(): Promise<void> {
    if (this.#connections.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onEmpty.push(resolve))
  }

  #hasRoom(socket: Duplex): boolean {
    return !this.#isClosing && this.#crowds.admits(addressOf(socket))
  }

  readonly #owner: ListenerOwner = {
    admit: (socket, inHandshake) => this.#admit(socket, inHandshake),
    onConnection: (socket) => {
      if (isEncrypted(socket)) this.#newcomers.get(endsOf(socket))?.settle()
      this.addConnection(socket)
    },
    onTlsFailure: () => {
      this.#counters.tlsFailures++
    },
  }

  #admit(socket: Socket, inHandshake: boolean): boolean {
    if (!this.#hasRoom(socket)) {
      this.#counters.connectionsRefused++
      socket.destroy()
      return false
    }
    if (inHandshake) {
      const newcomer = new Newcomer(socket, this.#newcomers, this.#crowds)
      socket.on('close', () => newcomer.settle())
    }
    return true
  }

  #makeHost(): ConnectionHost {
    return {
      limits: this.#limits,
      clock: this.#clock,
      counters: this.#counters,
      wheel: this.#wheel,
      pool: new BufferPool(),
      headReader: new HeadReader(),
      unpacking: new Unpacking(this.#limits, () => this.#clock.nowMs()),
      route: (path) => this.#routes.get(path),
      markDirty: (connection) => this.#markDirty(connection),
      onHeld: (grownBytes) => {
        this.#held.add(grownBytes)
        if (grownBytes > 0) this.#held.relieve()
        this.#counters.bytesHeld = this.#held.bytes
      },
      onClosed: (connection) => this.#onClosed(connection),
      onError: (error, path) => this.#reportError(error, path),
    }
  }

  #markDirty(connection: Connection): void {
    // After all that is ready in this turn, so that answers which come together leave together.
    if (this.#dirty.push(connection) === 1) setImmediate(this.#flushDirty)
  }

  readonly #flushDirty = (): void => {
    const dirty = this.#dirty
    this.#dirty = []
    for (const connection of dirty) connection.flush()
  }

  #onClosed(connection: Connection): void {
    this.#connections.get(connection)?.()
    this.#connections.delete(connection)
    this.#counters.connectionsOpen--
    if (this.#connections.size > 0) return
    this.#wheel.clear(this.#sweepTimer)
    for (const resolve of this.#onEmpty) resolve()
    this.#onEmpty = []
  }

  #sweepIn(delayMs: number): void {
    this.#wheel.set(this.#sweepTimer, this.#clock.nowMs() + delayMs)
  }

  #sweep(): void {
    const nowMs = this.#clock.nowMs()
    this.#sweepIn(SWEEP_MS)
    for (const connection of this.#connections.keys()) connection.sweep(nowMs)
  }

  #reportError(error: unknown, path: string): void {
    try {
      this.#onError(error, path)
    } catch (fault) {
      warn(fault)
    }
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}

function isEncrypted(socket: Duplex): socket is TLSSocket {
  return 'encrypted' in socket
}
