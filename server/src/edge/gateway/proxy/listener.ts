import { constants } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import type { TLSSocket, Server as TlsServer } from 'node:tls'
import type { GatewayAddress } from '../gateway-options.ts'
import type { GatewayTls, ListenerOptions } from '../options.ts'
import type { Connections } from './connections.ts'

const BACKLOG = 4_096
const HANDSHAKE_MS = 10_000

/** Listener accepts connections on one address. */
export class Listener {
  readonly #options: ListenerOptions
  readonly #server: Server
  #settle: () => void = () => {}
  #isListening = false
  /** closed resolves when the port is free. */
  readonly closed: Promise<void>

  constructor(options: ListenerOptions, connections: Connections) {
    this.#options = options
    this.#server = options.tls === undefined ? plainServer(connections) : tlsServer(connections, options.tls)
    // Accepting goes on after an error, such as too many open files.
    this.#server.on('error', () => {})
    this.closed = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  listen(): Promise<GatewayAddress> {
    const { port = 0, host } = this.#options
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ port, ...(host !== undefined && { host }), backlog: BACKLOG }, () => {
        this.#server.off('error', reject)
        this.#isListening = true
        const address = this.#server.address()
        if (address === null || typeof address === 'string') reject(new Error('not a port'))
        else resolve({ host: address.address, port: address.port })
      })
    })
  }

  setTls(tls: GatewayTls): void {
    if ('setSecureContext' in this.#server) (this.#server as TlsServer).setSecureContext(contextOf(tls))
  }

  /** accept treats a connection that another process accepted as one that came to this address. */
  accept(socket: Socket): void {
    // A client that leaves in a handshake would keep its place: nobody but TLS itself reads that it ended.
    socket.allowHalfOpen = this.#options.tls === undefined
    this.#server.emit('connection', socket)
  }

  /** close accepts no more connections; those that are open stay. */
  close(): void {
    if (!this.#isListening) this.#settle()
    else this.#server.close(() => this.#settle())
  }
}

function plainServer(connections: Connections): Server {
  return createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true }, (socket) => {
    if (connections.admit(socket)) connections.take(socket)
  })
}

function contextOf(tls: GatewayTls): GatewayTls {
  const secureOptions = (tls.secureOptions ?? 0) | constants.SSL_OP_NO_RENEGOTIATION
  return { minVersion: 'TLSv1.2', honorCipherOrder: true, ...tls, secureOptions }
}

function tlsServer(connections: Connections, tls: GatewayTls): Server {
  const { createServer: createTlsServer } = process.getBuiltinModule('node:tls')
  const own = { ALPNProtocols: ['h2', 'http/1.1'], handshakeTimeout: HANDSHAKE_MS, noDelay: true, keepAlive: true }
  const server = createTlsServer({ ...contextOf(tls), ...own })
  // The socket below is what is counted: a handshake takes a place too.
  const below = new Map<string, Socket>()
  const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}:${remotePort}`
  server.prependListener('connection', (socket: Socket) => {
    if (!connections.admit(socket)) return
    const name = nameOf(socket)
    below.set(name, socket)
    socket.once('close', () => below.delete(name))
  })
  server.on('tlsClientError', (_error, socket: TLSSocket) => socket.destroy())
  server.on('secureConnection', (secure: TLSSocket) => {
    const socket = below.get(nameOf(secure))
    if (socket === undefined) secure.destroy()
    else connections.takeTls(secure, socket)
  })
  return server
}
