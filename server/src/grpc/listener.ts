import { constants } from 'node:crypto'
import { statSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions, TLSSocket, Server as TlsServer } from 'node:tls'

/** A certificate and, for mutual TLS, `requestCert: true` and the `ca` that signs the clients'. */
export interface GrpcTlsOptions extends SecureContextOptions {
  readonly requestCert?: boolean
  /** Turns away clients without a good certificate, where one is requested. true. */
  readonly rejectUnauthorized?: boolean
  /** Turns away clients for another reason, when their certificate is known. */
  readonly authorize?: (socket: TLSSocket) => boolean
}

/** A TCP port, where 0 picks a free one, or the path of a Unix socket. */
export type ListenOptions = { readonly port: number; readonly host?: string } | { readonly path: string }

/** Where a server listens. */
export type GrpcAddress = { readonly host: string; readonly port: number } | { readonly path: string }

/** Takes what a listener accepts. */
export interface ListenerOwner {
  /** Returns whether there is room for one more connection; if not, it is destroyed. */
  admit(socket: Socket, inHandshake: boolean): boolean
  onConnection(socket: Duplex): void
  onTlsFailure(): void
}

export interface TlsSetup {
  readonly options: GrpcTlsOptions
  readonly handshakeTimeoutMs: number
}

const BACKLOG = 4_096
// Ciphers that HTTP/2 does not forbid (RFC 9113, 9.2.2): key agreement that is forgotten, and authenticated encryption.
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Accepts connections on one address. */
export class Listener {
  readonly #server: Server
  #address: GrpcAddress | undefined

  constructor(owner: ListenerOwner, tls: TlsSetup | undefined) {
    this.#server = tls === undefined ? plainServer(owner) : tlsServer(owner, tls)
    // Accepting continues after an error, such as too many open files.
    this.#server.on('error', () => {})
  }

  /** Resolves to the address once connections are accepted. */
  async listen(options: ListenOptions): Promise<GrpcAddress> {
    try {
      this.#address = await start(this.#server, options)
    } catch (error) {
      if (!('path' in options) || !(await isStale(options.path, error))) throw error
      unlinkSync(options.path)
      this.#address = await start(this.#server, options)
    }
    return this.#address
  }

  setTls(options: GrpcTlsOptions): void {
    if ('setSecureContext' in this.#server) (this.#server as TlsServer).setSecureContext(contextOf(options))
  }

  /** Treats a connection that came another way as one that came to this address. */
  accept(socket: Socket): void {
    this.#server.emit('connection', socket)
  }

  /** Stops accepting connections; open ones stay. */
  close(): void {
    this.#server.close()
  }
}

function plainServer(owner: ListenerOwner): Server {
  return createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true }, (socket) => {
    if (owner.admit(socket, false)) owner.onConnection(socket)
  })
}

function contextOf(options: GrpcTlsOptions): GrpcTlsOptions {
  const secureOptions = (options.secureOptions ?? 0) | constants.SSL_OP_NO_RENEGOTIATION
  return { minVersion: 'TLSv1.2', ciphers: CIPHERS, honorCipherOrder: true, ...options, secureOptions }
}

function tlsServer(owner: ListenerOwner, { options, handshakeTimeoutMs }: TlsSetup): Server {
  const handshakeTimeout = Math.min(handshakeTimeoutMs, 0x7fff_ffff)
  // Not half-open as plain sockets are: one that its client leaves in a handshake would never be closed.
  const own = { ALPNProtocols: ['h2'], handshakeTimeout, noDelay: true, keepAlive: true }
  // Loaded only when needed: most servers are behind something that terminates TLS for them.
  const { createServer: createTlsServer } = process.getBuiltinModule('node:tls')
  const server = createTlsServer({ ...contextOf(options), ...own })
  server.on('connection', (socket: Socket) => owner.admit(socket, true))
  server.on('tlsClientError', (_error, socket: TLSSocket) => {
    owner.onTlsFailure()
    // After its timeout, nothing else closes it.
    socket.destroy()
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    // HTTP/2 over TLS must be agreed on (RFC 9113, 3.2).
    if (socket.alpnProtocol === 'h2' && (options.authorize?.(socket) ?? true)) return owner.onConnection(socket)
    owner.onTlsFailure()
    socket.destroy()
  })
  return server
}

function start(server: Server, options: ListenOptions): Promise<GrpcAddress> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...options, backlog: BACKLOG }, () => {
      server.off('error', reject)
      const address = server.address()
      if (address === null || typeof address === 'string') resolve({ path: address ?? '' })
      else resolve({ host: address.address, port: address.port })
    })
  })
}

/** Returns whether a socket's file was left behind by a process that is gone. */
function isStale(path: string, error: unknown): Promise<boolean> {
  const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
  // Any other file is in use, and refuses connections just the same.
  if (!isTaken || !statSync(path, { throwIfNoEntry: false })?.isSocket()) return Promise.resolve(false)
  return new Promise((resolve) => {
    const probe = connect(path)
    probe.on('connect', () => {
      probe.destroy()
      resolve(false)
    })
    probe.on('error', (refusal: NodeJS.ErrnoException) => resolve(refusal.code === 'ECONNREFUSED'))
  })
}
