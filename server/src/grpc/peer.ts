import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'

/** What a client's certificate says; `authorized` that an authority we trust signed it. */
export interface TlsIdentity {
  readonly authorized: boolean
  readonly commonName: string | undefined
  /** As in "DNS:a.example, URI:spiffe://example/b". */
  readonly subjectAltName: string | undefined
  readonly fingerprint256: string
}

/** The other end of a connection. `address` is empty for a Unix socket. */
export interface Peer {
  readonly address: string
  readonly port: number
  readonly encrypted: boolean
  /** The certificate of the client, where it sent one. */
  readonly identity: TlsIdentity | undefined
}

/** Reads the address of a socket alone; empty for what has none. */
export function addressOf(socket: Duplex): string {
  return (socket as Partial<TLSSocket>).remoteAddress ?? ''
}

/** Reads the peer of a socket. It asks the system, so keep what it returns. */
export function peerOf(socket: Duplex): Peer {
  const { remoteAddress = '', remotePort = 0, encrypted = false } = socket as Partial<TLSSocket>
  return Object.freeze({
    address: remoteAddress,
    port: remotePort,
    encrypted,
    identity: encrypted ? identityOf(socket as TLSSocket) : undefined,
  })
}

function identityOf(socket: TLSSocket): TlsIdentity | undefined {
  const certificate = socket.getPeerCertificate()
  if (certificate?.fingerprint256 === undefined) return undefined
  return Object.freeze({
    authorized: socket.authorized,
    commonName: firstOf(certificate.subject?.CN),
    subjectAltName: certificate.subjectaltname,
    fingerprint256: certificate.fingerprint256,
  })
}

/** A certificate may repeat its common name; Node.js then gives a list. */
function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
