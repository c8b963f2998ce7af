import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Crowds, type Member } from '../../net/crowds.ts'

/** What the clients of an HTTP server may take. */
export interface HttpBounds {
  /** From connecting, or from the first byte of a request, to the end of its headers. 5 s. */
  readonly headersTimeoutMs: number
  /** From the first byte of a request to its last. 10 s. */
  readonly requestTimeoutMs: number
  /** How often these times are looked at. Node.js would do that every 30 s. 1 s. */
  readonly lookEveryMs: number
  /** Connections; for more, unused ones of the address with the most have to leave. 10,000. */
  readonly maxConnections: number
  /** Bytes of bodies that are not complete, in all requests; past it a request is answered 503. 33,554,432. */
  readonly maxBodyBytes: number
}

export const DEFAULT_HTTP_BOUNDS: HttpBounds = Object.freeze({
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  lookEveryMs: 1_000,
  maxConnections: 10_000,
  maxBodyBytes: 33_554_432,
})

/** A connection to an HTTP server. */
class Guest implements Member {
  readonly #socket: Socket
  requests = 0
  hasAsked = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  get use(): Member['use'] {
    if (this.requests > 0) return 'busy'
    return this.hasAsked ? 'idle' : 'none'
  }

  leave(): void {
    this.#socket.destroy()
  }
}

/** Has a server make room for new connections, or reject them, at its limit. */
export function boundConnections(server: Server, maxConnections: number): void {
  const crowds = new Crowds(maxConnections)
  const guests = new WeakMap<Socket, Guest>()
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    if (!crowds.admits(address)) {
      socket.destroy()
      return
    }
    const guest = new Guest(socket)
    guests.set(socket, guest)
    socket.once('close', crowds.add(address, guest))
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const guest = guests.get(socket)
    if (guest === undefined) return
    guest.requests++
    response.once('close', () => {
      guest.requests--
      // What was asked of it counts when it was answered, or sending half of a request would do.
      if (response.writableFinished) guest.hasAsked = true
    })
  })
}
