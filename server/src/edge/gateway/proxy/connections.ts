import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Crowds, type Member } from '../../../grpc/crowds.ts'
import { Timer } from '../../../grpc/timer-wheel.ts'
import type { ConnectionUnderWay } from '../gateway-options.ts'
import type { Host } from '../host.ts'
import { ServerConnection } from '../http1/server-connection.ts'
import { ServerSessions, SessionGuest } from '../http2/server-sessions.ts'
import type { ClientFacts } from '../sides.ts'

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

interface Guest extends Member {
  retire(ms: number): void
}

/** Connections takes what listeners accept, and finds out which HTTP it is. */
export class Connections {
  readonly #host: Host
  readonly #crowds: Crowds
  readonly #sessions: ServerSessions
  readonly #guests = new Map<Socket, Guest>()
  readonly #sockets = new Set<Socket>()
  #retiredForMs = -1
  whenEmpty: (() => void) | undefined

  constructor(host: Host) {
    this.#host = host
    this.#crowds = new Crowds(host.bounds.maxConnections)
    this.#sessions = new ServerSessions(host)
  }

  get size(): number {
    return this.#sockets.size
  }

  underWay(): readonly ConnectionUnderWay[] {
    return Array.from(this.#sockets, (socket) => progressOf(socket, this.#guests.get(socket)))
  }

  /** admit says whether there is room for one more, and counts it until it closes. A TLS socket is counted once. */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress ?? ''
    if (!this.#crowds.admits(address)) {
      socket.destroy()
      return false
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
    this.#sockets.add(socket)
    socket.once('close', () => {
      left()
      guests.delete(socket)
      this.#sockets.delete(socket)
      if (this.#sockets.size === 0) this.whenEmpty?.()
    })
    return true
  }

  /** take serves a plain connection, whose first bytes say which HTTP it is. */
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
  }

  /** takeTls serves a connection whose handshake says which HTTP it is. */
  takeTls(secure: TLSSocket, socket: Socket): void {
    const facts = factsOf(socket, 'https')
    secure.on('error', () => {})
    if (secure.alpnProtocol === 'h2') this.#takeHttp2(secure, socket, facts)
    else this.#takeHttp1(secure, socket, facts)
  }

  /** retire has everybody leave when what they asked is answered. */
  retire(ms: number): void {
    this.#retiredForMs = ms
    for (const [socket, guest] of this.#guests) retireOrEnd(socket, guest, ms)
    for (const socket of this.#sockets) if (!this.#guests.has(socket)) socket.destroy()
  }

  destroy(): void {
    for (const guest of this.#guests.values()) guest.leave()
    for (const socket of this.#sockets) socket.destroy()
  }

  #takeHttp1(socket: Socket, place: Socket, facts: ClientFacts): void {
    this.#keep(place, new ServerConnection(socket, facts, this.#host))
  }

  #takeHttp2(socket: Socket, place: Socket, facts: ClientFacts): void {
    this.#keep(place, this.#sessions.accept(socket, facts))
  }

  #keep(place: Socket, guest: Guest): void {
    if (place.destroyed) return
    this.#guests.set(place, guest)
    if (this.#retiredForMs >= 0) retireOrEnd(place, guest, this.#retiredForMs)
  }
}

/** retireOrEnd ends a connection that cannot be retired: the others, and their drain, are not to suffer from it. */
function retireOrEnd(socket: Socket, guest: Guest, ms: number): void {
  try {
    guest.retire(ms)
  } catch {
    socket.destroy()
  }
}

function progressOf(socket: Socket, guest: Guest | undefined): ConnectionUnderWay {
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
  const address = socket.remoteAddress ?? ''
  return { peer: address.startsWith('::ffff:') ? address.slice(7) : address, scheme }
}
