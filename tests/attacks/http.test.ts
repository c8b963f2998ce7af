import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Limiter } from 'sluice/internal/engine/limiter'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type CheckServerOptions, checkServer } from '../../server/src/edge/check/check-server.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { until } from '../servers/until.mjs'

// Clients of the HTTP port that send slowly, too much, or leave.

const FAST = { headersTimeoutMs: 50, requestTimeoutMs: 100, lookEveryMs: 10 }
const BODY = JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 'a' }] }] })
const HEAD = 'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'

let server: Server
let sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets = []
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

async function start(options: CheckServerOptions): Promise<void> {
  const limiter = new Limiter(() => loadRules([{ file: 'a.yaml', text: 'domain: api' }]), new MemoryStore())
  server = checkServer(limiter, options)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}

/** A Client is a raw connection. */
interface Client {
  readonly socket: Socket
  /** What has come back so far. */
  text(): string
  isClosed(): boolean
}

async function client(text: string, localAddress = '127.0.0.1'): Promise<Client> {
  const { port } = server.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  sockets.push(socket)
  let received = ''
  let isClosed = false
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  await once(socket, 'connect')
  socket.write(text)
  return { socket, text: () => received, isClosed: () => isClosed }
}

const asks = `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`

async function answerOf(each: Client): Promise<string> {
  await until('it is answered', () => each.text().includes('\r\n\r\n'))
  return each.text().slice(0, each.text().indexOf('\r\n'))
}

describe('a client that is too slow is cut off', () => {
  it.each([
    ['with nothing at all', ''],
    ['in the middle of its headers', HEAD],
    ['in the middle of its body', `${HEAD}Content-Length: 100\r\n\r\n{`],
    ['in the middle of a chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{`],
  ])('%s', async (_, text) => {
    const failed = vi.fn()
    await start({ bounds: FAST, failed })
    const slow = await client(text)
    await until('it is cut off', slow.isClosed)
    expect(failed).not.toHaveBeenCalled()
  })

  it('when its time is over, not when Node.js happens to look', async () => {
    await start({})
    const { connectionsCheckingInterval } = server as Server & { connectionsCheckingInterval: number }
    expect(server.headersTimeout).toBe(5_000)
    expect(server.requestTimeout).toBe(10_000)
    expect(connectionsCheckingInterval).toBeLessThanOrEqual(1_000)
  })
})

describe('a client that leaves', () => {
  it.each([
    ['in the middle of its body', `${HEAD}Content-Length: 100\r\n\r\n{`],
    ['in the middle of a chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{`],
    ['while it waits for 100 Continue', `${HEAD}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n`],
    ['in the middle of a body that is too large', `${HEAD}Content-Length: 900000\r\n\r\n${'a'.repeat(70_000)}`],
  ])('%s is no one’s fault, and not reported', async (_, text) => {
    const failed = vi.fn()
    await start({ failed })
    const requests = vi.fn()
    server.on('request', requests)
    server.on('checkContinue', (request, response) => server.emit('request', request, response))
    const leaver = await client(text)
    await until('its request has begun', () => requests.mock.calls.length === 1)
    leaver.socket.resetAndDestroy()
    await until('its connection has ended', async () => (await connections()) === 0)
    expect(await answerOf(await client(asks))).toBe('HTTP/1.1 200 OK')
    expect(failed).not.toHaveBeenCalled()
  })
})

const connections = (): Promise<number> =>
  new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })

describe('bodies that are not complete', () => {
  it('are held up to a bound: the next one is answered 503, and others are answered later', async () => {
    await start({ bounds: { maxBodyBytes: 100_000 } })
    const half = `${HEAD}Content-Length: 60000\r\n\r\n${' '.repeat(40_000)}`
    const slow = [await client(half), await client(half), await client(half)]
    await until('one is refused', () => slow.some(({ text }) => text().startsWith('HTTP/1.1 503')))
    expect(slow.filter(({ text }) => text() !== '')).toHaveLength(1)
    expect(await answerOf(await client(asks))).toBe('HTTP/1.1 200 OK')
  })

  it('give back what they held, however they end', async () => {
    await start({ bounds: { maxBodyBytes: 100_000 } })
    for (let i = 0; i < 5; i++) {
      const slow = await client(`${HEAD}Content-Length: 90000\r\n\r\n${' '.repeat(60_000)}`)
      await until('it is read', () => slow.socket.bytesWritten > 60_000 && slow.socket.writableLength === 0)
      slow.socket.destroy()
      await until('it has left', async () => (await connections()) === 0)
    }
    expect(await answerOf(await client(`${HEAD}Content-Length: 60000\r\n\r\n${BODY.padEnd(60_000)}`))).toBe(
      'HTTP/1.1 200 OK',
    )
  })

  it('in pieces of one byte are put together', async () => {
    await start({})
    const pieces = Array.from(BODY, (byte) => `1\r\n${byte}\r\n`).join('')
    const one = await client(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`)
    expect(await answerOf(one)).toBe('HTTP/1.1 200 OK')
  })
})

describe('connections of one address that take every place', () => {
  it.each([
    ['silent', ''],
    ['with a request that never ends', `${HEAD}Content-Length: 100\r\n\r\n{`],
    ['that were answered before', asks],
  ])('do not keep another address out: %s', async (_, text) => {
    await start({ bounds: { maxConnections: 5 } })
    const crowd: Client[] = []
    for (let i = 0; i < 5; i++) crowd.push(await client(text, '127.0.0.2'))
    await until('all are there', async () => (await connections()) === 5)
    if (text === asks) for (const each of crowd) await answerOf(each)
    expect(await answerOf(await client(asks))).toBe('HTTP/1.1 200 OK')
    await until('one had to leave', () => crowd.some(({ isClosed }) => isClosed()))
  })
})
