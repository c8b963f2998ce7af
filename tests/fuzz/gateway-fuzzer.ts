import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { GatewayRequest } from '../../server/src/edge/gateway/gate.ts'
import type { Gateway } from '../../server/src/edge/gateway/gateway-options.ts'
import { openGateway } from '../../server/src/edge/gateway/proxy/gateway.ts'
import { cut, Type } from '../grpc/wire.ts'
import { startNginxProxy } from '../servers/nginx.mjs'
import { until } from '../servers/until.mjs'
import { conversation, marksIn } from './hostile-http.ts'
import { Random } from './random.ts'
import { type Received, startStrict } from './strict-upstream.ts'

const CLIENTS = 6
/** What is written to one client. An answer of the gateway or of an upstream has less than 1,000 bytes. */
const MAX_ANSWER_BYTES = 100_000

/** A Lab is an upstream of one kind, and what it makes of the requests of a seed. */
export interface Lab {
  readonly url: string
  received: Received[]
  faults: string[]
  stop(): void | Promise<void>
}

const newLab = (): Lab => ({ url: '', received: [], faults: [], stop: () => {} })

/** Reads by a grammar of its own. */
async function strictLab(): Promise<Lab> {
  const lab = newLab()
  const { port, stop } = await startStrict(
    (request) => lab.received.push(request),
    (text) => lab.faults.push(text),
  )
  return Object.assign(lab, { url: `http://127.0.0.1:${port}`, stop })
}

/** A request that was cut off, and a method that Node.js does not know. */
const HARMLESS = new Set(['HPE_INVALID_EOF_STATE', 'HPE_INVALID_METHOD'])

/** A server of Node.js: its own parser reads. */
async function nodeLab(): Promise<Lab> {
  const lab = newLab()
  const server = createServer((request, response) => {
    const { method, url, rawHeaders } = request
    let body = ''
    request.on('data', (data: Buffer) => {
      body += data.toString('latin1')
    })
    request.on('end', () => response.end('ok'))
    lab.received.push({
      line: `${method} ${url}`,
      head: rawHeaders.join('\n'),
      get body() {
        return body
      },
    })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code?.startsWith('HPE_') && !HARMLESS.has(error.code)) lab.faults.push(error.code)
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const stop = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return Object.assign(lab, { url: `http://127.0.0.1:${port}`, stop })
}

/** nginxLab is nginx, before a server of Node.js that says what comes through. */
async function nginxLab(): Promise<Lab> {
  const node = await nodeLab()
  const stopNode = node.stop
  const nginx = await startNginxProxy(Number(new URL(node.url).port))
  const stop = async (): Promise<void> => {
    await nginx.stop()
    await stopNode()
  }
  return Object.assign(node, { url: nginx.url, stop })
}

/** Starts an upstream of each kind. */
export const startLabs = (): Promise<Lab[]> => Promise.all([strictLab(), nodeLab(), nginxLab()])

interface Client {
  readonly socket: Socket
  readonly ids: Set<number>
  readonly isDamaged: boolean
  port: number
  sent: number
  heard: Buffer
  isClosed: boolean
}

/**
 * Has clients send what a seed stands for to a gateway before an upstream. It throws where the upstream has received a
 * request that was not charged, or parts of two requests in one, or what is no HTTP; and where something is left
 * behind.
 */
export async function fuzzGateway(seed: number, labs: readonly Lab[]): Promise<void> {
  const lab = labs[seed % labs.length] as Lab
  lab.received = []
  lab.faults = []
  const random = new Random(seed)
  const charged: string[] = []
  const [errors, found] = [[] as string[], [] as string[]]
  let ended = 0
  const admit = ({ method, target }: GatewayRequest) => {
    charged.push(`${method} ${target}`)
    return { kind: 'admitted' as const, ended: () => void ended++ }
  }
  const silent = { info: () => {}, warn: () => {}, error: (_: string, text: string) => void errors.push(text) }
  const hear = (error: unknown): void => void errors.push(String(error instanceof Error ? error.stack : error))
  process.on('uncaughtException', hear)
  const gateway = await openGateway({
    listeners: [{ port: 0, host: '127.0.0.1' }],
    gate: { admit },
    log: silent,
    routes: [{ name: 'all', path: '/*', upstream: 'app', retries: 0 }],
    upstreams: { app: { addresses: [lab.url] } },
  })
  try {
    const clients = await converse(gateway, random)
    found.push(...lab.faults.map((text) => `the upstream read what is no HTTP: ${text}`))
    found.push(...uncharged(charged, lab.received), ...lab.received.flatMap((each) => mixed(each, clients)))
    for (const { heard } of clients)
      if (heard.length > MAX_ANSWER_BYTES) found.push(`${heard.length} bytes for a client`)
  } finally {
    await gateway.close()
    process.off('uncaughtException', hear)
  }
  found.push(...errors)
  if (ended !== charged.length) found.push(`${charged.length} requests were charged, and ${ended} ended`)
  if (found.length > 0) throw new Error(found.join('; '))
}

/** Lets clients talk at the same time, and resolves when all is read and answered, and all are gone. */
async function converse(gateway: Gateway, random: Random): Promise<Client[]> {
  let id = 0
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, () => {
      const ids = new Set<number>()
      const nextId = (): number => {
        ids.add(id)
        return id++
      }
      return talk(gateway, conversation(random, nextId), ids)
    }),
  )
  let quiet = 0
  await until('all is read and answered', () => {
    quiet = isQuiet(gateway, clients) ? quiet + 1 : 0
    return quiet === 2
  }).catch(() => {
    throw new Error(`not quiet: ${progress(gateway, clients)}`)
  })
  for (const { socket } of clients) socket.destroy()
  await until('nothing is left', () => isEmpty(gateway, clients)).catch(() => {
    throw new Error(`left behind: ${progress(gateway, clients)}`)
  })
  return clients
}

async function talk(
  gateway: Gateway,
  { pieces, isDamaged }: ReturnType<typeof conversation>,
  ids: Set<number>,
): Promise<Client> {
  const socket = connect({ port: gateway.addresses[0]?.port as number, host: '127.0.0.1', noDelay: true })
  const client: Client = { socket, ids, isDamaged, port: 0, sent: 0, heard: Buffer.alloc(0), isClosed: false }
  socket.on('data', (data: Buffer) => {
    client.heard = Buffer.concat([client.heard, data])
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    client.isClosed = true
  })
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  client.port = socket.localPort as number
  for (const piece of pieces) {
    if (!client.isClosed) socket.write(piece)
    client.sent += piece.length
    await nextTurn()
  }
  return client
}

const peerOf = ({ port }: Client): string => `127.0.0.1:${port}`

/** Says whether a client of HTTP/2 was told that its connection has an error. */
const isTurnedAway = ({ heard }: Client): boolean =>
  cut(heard).frames.some(({ type, payload }) => type === Type.GOAWAY && payload.readUInt32BE(4) !== 0)

/**
 * Says whether nothing is left of clients that have gone. node:http2 neither reads nor ends a connection after some
 * errors of it, and does not notice that its client leaves: it and its requests end when their time is over.
 */
function isEmpty(gateway: Gateway, clients: readonly Client[]): boolean {
  const late = new Set(clients.filter(isTurnedAway).map(peerOf))
  const connections = gateway.connectionsInFlight()
  const streams = connections.reduce((sum, each) => sum + each.streams, 0)
  return connections.every(({ peer }) => late.has(peer)) && gateway.stats.requests <= streams
}

function progress(gateway: Gateway, clients: readonly Client[]): string {
  const sides = clients.map(({ port, sent, heard, isClosed }) => ({ port, sent, heard: heard.length, isClosed }))
  return JSON.stringify([sides, gateway.inFlight(), gateway.connectionsInFlight()])
}

/** Says whether the gateway has read all, and each request that it has waits for its client. */
function isQuiet(gateway: Gateway, clients: readonly Client[]): boolean {
  const read = new Map(gateway.connectionsInFlight().map(({ peer, bytesRead }) => [peer, bytesRead]))
  const isRead = (client: Client): boolean => {
    const bytes = read.get(peerOf(client))
    return client.isClosed || bytes === undefined || bytes >= client.sent || isTurnedAway(client)
  }
  const waits = ({ phase, isBodyEnded }: ReturnType<Gateway['inFlight']>[number]): boolean =>
    phase === 'tunnel' || ((phase === 'peek' || phase === 'send') && !isBodyEnded)
  return clients.every(isRead) && gateway.inFlight().every(waits)
}

/** uncharged are requests that reached the upstream, and were not charged, or fewer times. */
function uncharged(charged: readonly string[], received: readonly Received[]): string[] {
  const left = new Map<string, number>()
  for (const line of charged) left.set(line, (left.get(line) ?? 0) + 1)
  return received.flatMap(({ line }) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count > 0 ? [] : [`the upstream received ${JSON.stringify(line)}, which was not charged`]
  })
}

/**
 * Says whether a request has parts of another. Where bytes were changed at random, it may, if both are of one client.
 */
function mixed({ line, head, body }: Received, clients: readonly Client[]): string[] {
  const marks = marksIn(`${line}\n${head}\n${body}`)
  const all = [...new Set(marks)]
  const [first] = all
  if (first === undefined) return []
  const client = clients.find(({ ids }) => ids.has(first))
  const allowed = client?.isDamaged === true ? client.ids : new Set([first])
  const others = all.filter((id) => !allowed.has(id))
  return others.length === 0 ? [] : [`${JSON.stringify(line)} has parts of requests ${all.join(', ')}`]
}
