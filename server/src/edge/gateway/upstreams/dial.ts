import { connect, isIP, type Socket } from 'node:net'
import type { Endpoint } from './endpoint.ts'

/** Opens a connection. TLS certificates are verified, always. */
export function dial({ scheme, host, port, tls }: Endpoint, protocol: 'http/1.1' | 'h2'): Socket {
  const socketOptions = { host, port, noDelay: true, keepAlive: true, allowHalfOpen: protocol === 'http/1.1' }
  if (scheme === 'http') return connect(socketOptions)
  const { connect: connectTls } = process.getBuiltinModule('node:tls')
  const servername = tls?.servername ?? (isIP(host) === 0 ? host : '')
  return connectTls({ ...socketOptions, ...tls, servername, ALPNProtocols: [protocol] })
}
