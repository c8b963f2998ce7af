import { constants } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import type { TLSSocket, Server as TlsServer } from 'node:tls'
import type { GatewayAddress } from '../gateway-options.ts'
import type { GatewayTls, ListenerOptions } from '../options.ts'
import type { Connections } from './connections.ts'

const BACKLOG = 4_096
const HANDSHAKE_MS = 10_000
/** What comes is not read before it is its turn. */
const SOCKETS = { noDelay: true, keepAlive: true, pauseOnConnect: true }

/** Accepts connections on one address. */
export class Listener {
  readonly #options: ListenerOptions
  readonly #server: Server
  readonly #secure: TlsServer | undefined
  #settle: () => void = () => {}
  #isListening = false
  /** Resolves when the port is free. */
  readonly closed: Promise<void>

  constructor(options: ListenerOptions, connections: Connections) {
    this.#options = options
    const encrypted = options.tls && tlsOver(connections, options.tls)
    this.#server = encrypted?.front ?? plainServer(connections)
    this.#secure = encrypted?.secure
    // Accepting continues after an error, such as too many open files.
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
        if (address === null || typeof address === 'string') reject(new Error('the port is invalid'))
        else resolve({ host: address.address, port: address.port })
      })
    })
  }

  setTls(tls: GatewayTls): void {
    this.#secure?.setSecureContext(contextOf(tls))
  }

  /** Treats a connection that another process accepted as one that came to this address. */
  accept(socket: Socket): void {
    // A client that leaves during a handshake would keep its slot: only TLS itself reads that it ended.
    socket.allowHalfOpen = this.#options.tls === undefined
    this.#server.emit('connection', socket)
  }

  /** Stops accepting connections; open ones stay. */
  close(): void {
    if (!this.#isListening) this.#settle()
    else this.#server.close(() => this.#settle())
  }
}

function plainServer(connections: Connections): Server {
  return createServer({ ...SOCKETS, allowHalfOpen: true }, (socket) =>
    connections.admit(socket, () => connections.take(socket)),
  )
}

function contextOf(tls: GatewayTls): GatewayTls {
  const secureOptions = (tls.secureOptions ?? 0) | constants.SSL_OP_NO_RENEGOTIATION
  return { minVersion: 'TLSv1.2', honorCipherOrder: true, ...tls, secureOptions }
}

/** Makes a server that no port leads to: it is given connections when it is their turn for a handshake. */
function tlsOver(connections: Connections, tls: GatewayTls): { readonly front: Server; readonly secure: TlsServer } {
  const { createServer: createTlsServer } = process.getBuiltinModule('node:tls')
  const own = { ALPNProtocols: ['h2', 'http/1.1'], handshakeTimeout: HANDSHAKE_MS }
  const secure = createTlsServer({ ...contextOf(tls), ...own })
  // The socket below is what is counted: a handshake takes a place too.
  const below = new Map<string, Socket>()
  const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}:${remotePort}`
  const front = createServer(SOCKETS, (socket) => {
    const shake = (): void => {
      const name = nameOf(socket)
      below.set(name, socket)
      socket.once('close', () => below.delete(name))
      secure.emit('connection', socket)
    }
    connections.admit(socket, shake, true)
  })
  secure.on('tlsClientError', (_error, socket: TLSSocket) => socket.destroy())
  secure.on('secureConnection', (encrypted: TLSSocket) => {
    const socket = below.get(nameOf(encrypted))
    if (socket === undefined) encrypted.destroy()
    else connections.takeTls(encrypted, socket)
  })
  return { front, secure }
}
