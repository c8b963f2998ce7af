import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import { ManualClock } from '../../../net/manual-clock.suite.ts'
import { type EndKind, type GatewayGate, type GatewayRequest, openGate } from '../gate.ts'
import type { Gateway, GatewayOptions } from '../gateway-options.ts'
import type { Route, RouteTimes, Upstream } from '../options.ts'
import { openGateway } from './gateway.ts'

/**
 * The times of a route whose requests are to end by what happens on sockets, on a clock that runs ahead of it: out of
 * reach, so that a busy machine does not turn the end into a time that is over.
 */
export const ENDLESS: Partial<RouteTimes> = {
  connectMs: 2 ** 31 - 1,
  bodyIdleMs: 2 ** 31 - 1,
  firstByteMs: 2 ** 31 - 1,
  idleMs: 2 ** 31 - 1,
}

/** Starts an upstream of HTTP/1.1 for one test, and returns its address. */
export async function startApp(listener: RequestListener, tune?: (server: Server) => void): Promise<string> {
  const server = createServer(listener)
  tune?.(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Starts an upstream that does with its connections what it likes. */
export async function startRaw(taken: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    taken(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export interface Setup extends Partial<Omit<GatewayOptions, 'routes' | 'upstreams'>> {
  readonly route?: Partial<Route>
  readonly upstream?: Partial<Upstream>
}

/** Leads everything to the given addresses, for one test. */
export async function startGateway(addresses: string | readonly string[], setup: Setup = {}) {
  const { route = {}, upstream = {}, ...options } = setup
  const gateway = await openGateway({
    listeners: [{ port: 0, host: '127.0.0.1' }],
    gate: openGate,
    ...options,
    routes: [{ name: 'all', path: '/*', upstream: 'app', ...route }],
    upstreams: { app: { addresses: [addresses].flat(), ...upstream } },
  })
  onTestFinished(() => gateway.close())
  const port = gateway.addresses[0]?.port as number
  return { gateway, port, url: `http://127.0.0.1:${port}` }
}

/** The fields of a WebSocket's request, and of a 101 that accepts it (RFC 6455, 1.3). */
export const SOCKET_FIELDS =
  'Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
export const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n'

/** A connection that writes and reads bytes as they are. */
export interface Talk {
  readonly socket: Socket
  /** What has come so far. */
  text(): string
  isClosed(): boolean
}

export function talkTo(port: number, bytes = ''): Talk {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const parts: Buffer[] = []
  let isClosed = false
  socket.on('data', (data: Buffer) => parts.push(data))
  socket.on('error', () => {
    isClosed = true
  })
  socket.on('end', () => {
    isClosed = true
    socket.end()
  })
  if (bytes !== '') socket.write(bytes, 'latin1')
  onTestFinished(() => void socket.destroy())
  return { socket, text: () => Buffer.concat(parts).toString('latin1'), isClosed: () => isClosed }
}

/**
 * Sends a piece at a time until the gateway reads no more of them, and then a little more: less than the gateway reads
 * of a client that waits, so that it comes to the end when the client leaves.
 */
export async function sendUntilPaused({ socket }: Talk, gateway: Gateway, phase: 'send' | 'tunnel'): Promise<void> {
  const piece = Buffer.alloc(65_536)
  let looks = 0
  await until('the client has to wait', () => {
    const [request] = gateway.inFlight()
    if (request?.phase !== phase) return false
    if (request.isClientPaused) return ++looks === 5
    looks = 0
    if (!socket.writableNeedDrain) socket.write(piece)
    return false
  })
  await new Promise((resolve) => socket.write(Buffer.alloc(100_000), resolve))
}

/** Writes bytes, and returns all that comes until the other side ends. */
export function exchangeBytes(port: number, bytes: string): Promise<string> {
  const talk = talkTo(port, bytes)
  return new Promise((resolve) => {
    talk.socket.on('end', () => resolve(talk.text()))
    talk.socket.on('close', () => resolve(talk.text()))
  })
}

/** Lets everything through, and writes down what it hears. */
export class RecordingGate implements GatewayGate {
  readonly asked: { readonly method: string; readonly path: string; readonly ip: string }[] = []
  readonly statuses: number[] = []
  readonly ended: EndKind[] = []
  admitted = 0

  admit({ method, path, ip }: GatewayRequest) {
    this.asked.push({ method, path, ip })
    this.admitted++
    return {
      kind: 'admitted' as const,
      responded: (status: number) => void this.statuses.push(status),
      ended: (kind: EndKind) => void this.ended.push(kind),
    }
  }
}

export type { Gateway }
export { ManualClock }
