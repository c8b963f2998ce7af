import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { ClientBudgets, type ConnectionBudget } from '../../../net/client-budgets.ts'
import { Crowds, type Member } from '../../../net/crowds.ts'
import { Timer } from '../../../net/timer-wheel.ts'
import { Turns } from '../../../net/turns.ts'
import type { ConnectionInFlight, GatewayStats } from '../gateway-options.ts'
import type { Host } from '../host.ts'
import { ServerConnection } from '../http1/server-connection.ts'
import { ServerSessions, SessionGuest } from '../http2/server-sessions.ts'
import type { ClientFacts } from '../sides.ts'

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

/** Units of work that it is to begin to serve a connection, and to begin a handshake of TLS. */
const CONNECTION_UNITS = 4
const HANDSHAKE_UNITS = 16

interface Guest extends Member {
  retire(ms: number): void
}

/** Takes what listeners accept, and finds out which HTTP it is. */
export class Connections {
  readonly #host: Host
  readonly #crowds: Crowds
  readonly #budgets: ClientBudgets
  readonly #sessions: ServerSessions
  readonly #guests = new Map<Socket, Guest>()
  readonly #sockets = new Map<Socket, ConnectionBudget>()
  #refused = 0
  #retiredForMs = -1
  whenEmpty: (() => void) | undefined

  constructor(host: Host) {
    this.#host = host
    const { bounds, clock } = host
    this.#crowds = new Crowds(bounds.maxConnections, bounds.maxConnectionsPerAddress)
    this.#budgets = new ClientBudgets(bounds, clock, new Turns(bounds.unitsPerTurn))
    this.#sessions = new ServerSessions(host)
  }

  get size(): number {
    return this.#sockets.size
  }

  get stats(): Omit<GatewayStats, 'connections' | 'requests' | 'upstreamConnections' | 'retries'> {
    const { held, ended } = this.#budgets
    return {
      heldBytes: held.bytes,
      connectionsRefused: this.#refused,
      connectionsEndedForResets: ended.resets,
      connectionsEndedForBytes: ended.bytes,
    }
  }

  inFlight(): readonly ConnectionInFlight[] {
    return Array.from(this.#sockets.keys(), (socket) => progressOf(socket, this.#guests.get(socket)))
  }

  /**
   * Serves a connection in a later turn if there is room for one more, and counts it until it closes. A TLS socket is
   * counted once, by the one below it.
   */
  admit(socket: Socket, serve: () => void, isEncrypted = false): void {
    const address = socket.remoteAddress ?? ''
    const isProxy = this.#host.trusts(plainAddress(address))
    if (!this.#crowds.admits(address, isProxy)) {
      this.#refused++
      this.#host.tookTooMuch('connections', address)
      socket.destroy()
      return
    }
    socket.on('error', () => {})
    const place: Member = {
      get use() {
        return guests.get(socket)?.use ?? 'none'
      },
      leave: () => {
        guests.get(socket)?.leave()
        socket.destroy()
      },
    }
    const guests = this.#guests
    const left = this.#crowds.add(address, place)
    const budget = this.#budgets.open(address, isProxy, (excess) => {
      this.#host.tookTooMuch(excess, address)
      const guest = guests.get(socket)
      if (guest instanceof SessionGuest) guest.giveUp(excess)
      else place.leave()
    })
    this.#sockets.set(socket, budget)
    socket.once('close', () => {
      left()
      budget.close()
      guests.delete(socket)
      this.#sockets.delete(socket)
      if (this.#sockets.size === 0) this.whenEmpty?.()
    })
    budget.later(() => {
      if (socket.destroyed) return 0
      serve()
      return isEncrypted ? HANDSHAKE_UNITS : CONNECTION_UNITS
    })
  }

  /** Serves a plain connection, whose first bytes say which HTTP it is. */
  take(socket: Socket): void {
    const facts = factsOf(socket, 'http')
    const timer = new Timer(() => socket.destroy())
    const { clock, wheel, bounds } = this.#host
    wheel.set(timer, clock.nowMs() + bounds.headMs)
    let held: Buffer | undefined
    const look = (data: Buffer): void => {
      held = held === undefined ? data : Buffer.concat([held, data])
      const start = held.toString('latin1', 0, PREFACE.length)
      const isPreface = PREFACE.startsWith(start)
      if (isPreface && start.length < PREFACE.length) return
      wheel.clear(timer)
      socket.off('data', look)
      if (isPreface) {
        // node:http2 takes what has been read already in one go, and nothing ends it in the middle of that.
        for (let left = resetsIn(held); left > 0 && !socket.destroyed; left--) this.#sockets.get(socket)?.reset()
        if (socket.destroyed) return
        socket.pause()
        socket.unshift(held)
        this.#takeHttp2(socket, socket, facts)
        return
      }
      this.#takeHttp1(socket, socket, facts)
      socket.emit('data', held)
    }
    socket.on('data', look)
    // Gone before it said anything.
    socket.once('end', () => {
      if (!this.#guests.has(socket)) socket.destroy()
    })
    socket.once('close', () => wheel.clear(timer))
    socket.resume()
  }

  /** Serves a connection whose handshake says which HTTP it is. */
  takeTls(secure: TLSSocket, socket: Socket): void {
    const facts = factsOf(socket, 'https')
    secure.on('error', () => {})
    if (secure.alpnProtocol === 'h2') this.#takeHttp2(secure, socket, facts)
    else this.#takeHttp1(secure, socket, facts)
  }

  /** Has every connection close once its requests are answered. */
  retire(ms: number): void {
    this.#retiredForMs = ms
    for (const [socket, guest] of this.#guests) retireOrEnd(socket, guest, ms)
    for (const socket of this.#sockets.keys()) if (!this.#guests.has(socket)) socket.destroy()
  }

  destroy(): void {
    for (const guest of this.#guests.values()) guest.leave()
    for (const socket of this.#sockets.keys()) socket.destroy()
  }

  #takeHttp1(socket: Socket, place: Socket, facts: ClientFacts): void {
    const budget = this.#sockets.get(place)
    if (budget !== undefined) this.#keep(place, new ServerConnection(socket, facts, this.#host, budget))
  }

  #takeHttp2(socket: Socket, place: Socket, facts: ClientFacts): void {
    const budget = this.#sockets.get(place)
    if (budget !== undefined) this.#keep(place, this.#sessions.accept(socket, facts, budget))
  }

  #keep(place: Socket, guest: Guest): void {
    if (place.destroyed) return
    this.#guests.set(place, guest)
    if (this.#retiredForMs >= 0) retireOrEnd(place, guest, this.#retiredForMs)
  }
}

/** Ends a connection that cannot be retired: the others, and their drain, are not to suffer from it. */
function retireOrEnd(socket: Socket, guest: Guest, ms: number): void {
  try {
    guest.retire(ms)
  } catch {
    socket.destroy()
  }
}

const FRAME_HEAD_BYTES = 9
const RST_STREAM = 3

/** Counts the streams that are reset in the first bytes of a connection of HTTP/2. */
function resetsIn(bytes: Buffer): number {
  let resets = 0
  for (
    let at = PREFACE.length;
    at + FRAME_HEAD_BYTES <= bytes.length;
    at += FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3)
  ) {
    if (bytes[at + 3] === RST_STREAM) resets++
  }
  return resets
}

function progressOf(socket: Socket, guest: Guest | undefined): ConnectionInFlight {
  const isHttp2 = guest instanceof SessionGuest
  return {
    peer: `${socket.remoteAddress}:${socket.remotePort}`,
    version: guest === undefined ? undefined : isHttp2 ? 'HTTP/2' : 'HTTP/1',
    use: guest?.use ?? 'none',
    streams: isHttp2 ? guest.streams : 0,
    isPaused: socket.isPaused(),
    hasClientEnded: socket.readableEnded,
    hasEnded: socket.writableEnded,
    bytesRead: socket.bytesRead,
    bytesWritten: socket.bytesWritten,
    bytesWaiting: socket.writableLength,
  }
}

function factsOf(socket: Socket, scheme: 'http' | 'https'): ClientFacts {
  return { peer: plainAddress(socket.remoteAddress ?? ''), scheme }
}

/** Returns an address of IPv4 as such, however the socket has it. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}
