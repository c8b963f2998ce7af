import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { heldPermits } from '../../../../tests/servers/held-permits.ts'
import { startProxy } from '../../../../tests/servers/proxy.mjs'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { SWITCHING } from '../../edge/gateway/proxy/gateway.suite.ts'
import { routesFile, startGateway, startRoutes } from './gateway.suite.ts'

// Long enough that a machine which stands still for a while loses no place.
const TTL_MS = 4_000
const ROUTES = `
upstreams: { app: APP }
routes:
  - { name: all, limits: [{ name: at once, algorithm: concurrency, requests_per_unit: 1, lease_ttl: ${TTL_MS}ms }] }
`

/** The places that Redis has of a gateway. */
const placesIn = (prefix: string) => heldPermits(`${prefix}*at once*`)

/** Those of a gateway on the Redis of the test run, and its prefix. */
async function redisArgs(url?: string) {
  const prefix = `${randomUUID()}:`
  const address = url ?? (await sharedRedis()).url
  return { prefix, args: ['--redis', address, '--key-prefix', prefix, '--redis-timeout', '60s'] }
}

/** Waits until a gateway counts in Redis: before that, it decides by itself. */
const reached = (lines: readonly string[]): Promise<unknown> =>
  until('Redis is reached', () => lines.some((line) => line.includes('store.connected')))

/** Waits until a place has been held for longer than its lease. */
async function outlives(prefix: string): Promise<void> {
  const [first] = await until('the place is taken', async () => {
    const places = await placesIn(prefix)
    return places.length === 1 && places
  })
  await until('it has outlived its time', async () => {
    const [now] = await placesIn(prefix)
    if (now !== undefined) expect(now.id).toBe(first.id)
    return now !== undefined && now.sinceMs - first.sinceMs > TTL_MS
  })
}

const free = async (prefix: string): Promise<unknown> =>
  until('the place is free', async () => (await placesIn(prefix)).length === 0)

const metric = async (admin: string, outcome: string): Promise<number> => {
  const text = await (await fetch(`${admin}/metrics`)).text()
  return Number(new RegExp(`^ratelimit_renewals_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1])
}

/** Asks for an answer that goes on, and does not read it. (fetch gives up an answer that nobody holds.) */
async function opened(url: string) {
  const asked = request(url, { agent: false }).end()
  asked.on('error', () => {})
  onTestFinished(() => void asked.destroy())
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  return { status: response.statusCode, leave: () => void asked.destroy() }
}

const stream = (_: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write('data: begun\n\n')
}

describe('a gateway with places on Redis', () => {
  it('holds the place of a stream for as long as it lives, and no longer', async () => {
    const { prefix, args } = await redisArgs()
    const { url, admin, lines } = await startRoutes(ROUTES, stream, args)
    await reached(lines)
    const { status, leave } = await opened(url)
    expect(status).toBe(200)
    await outlives(prefix)
    expect((await fetch(url)).status).toBe(429)
    await until('renewals are counted', async () => (await metric(admin, 'held')) > 2)
    leave()
    await free(prefix)
  })

  it('holds the place of a request whose answer is slow to come', async () => {
    const { prefix, args } = await redisArgs()
    const held: ServerResponse[] = []
    const { url, lines } = await startRoutes(ROUTES, (_, response) => void held.push(response), args)
    await reached(lines)
    const slow = fetch(url)
    await outlives(prefix)
    held[0].end('done')
    expect(await (await slow).text()).toBe('done')
    await free(prefix)
  })

  it('holds the place of a WebSocket', async () => {
    const { prefix, args } = await redisArgs()
    const app = createServer().on('upgrade', (_, socket) => {
      socket.write(SWITCHING)
      socket.on('error', () => {})
      socket.on('end', () => socket.end()).resume()
    })
    await once(app.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void app.close())
    const { file } = routesFile(ROUTES.replace('APP', `http://127.0.0.1:${(app.address() as AddressInfo).port}`))
    const { url, lines } = await startGateway(['--routes', file, ...args])
    await reached(lines)
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
    const asked = request(url, { headers: { ...headers, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' } }).end()
    const [, socket] = (await once(asked, 'upgrade')) as [IncomingMessage, Duplex]
    await outlives(prefix)
    expect((await fetch(url)).status).toBe(429)
    socket.destroy()
    await free(prefix)
  })

  it('acquires the permit again when Redis was unavailable for longer than the lease, and logs once that it was', async () => {
    const proxy = await startProxy((await sharedRedis()).port)
    onTestFinished(() => proxy.stop())
    const { prefix, args } = await redisArgs(proxy.url)
    const { url, admin, lines } = await startRoutes(ROUTES, stream, args)
    await reached(lines)
    const { leave } = await opened(url)
    await outlives(prefix)
    await proxy.refuse()
    await proxy.cut()
    await until('its time is over in Redis', async () => (await placesIn(prefix)).length === 0)
    await until('it is missed again and again', async () => (await metric(admin, 'missed')) >= 2)
    await proxy.heal()
    await until('it is taken again', async () => (await metric(admin, 'retaken')) === 1)
    expect(lines.filter((line) => line.includes('places.'))).toEqual([
      expect.stringContaining('warn places.missed: the store did not answer: 1 places were not renewed'),
      'info places.renewed: places are renewed again',
    ])
    expect(await placesIn(prefix)).toHaveLength(1)
    leave()
    await free(prefix)
  })
})

describe('a gateway with places in memory', () => {
  it('holds the place of a stream for longer than its lease', async () => {
    const { url, admin } = await startRoutes(ROUTES, stream)
    const { leave } = await opened(url)
    await until('it is renewed', async () => (await metric(admin, 'held')) >= 5)
    expect((await fetch(url)).status).toBe(429)
    leave()
    await until('the place is free', async () => {
      const response = await fetch(url)
      await response.body?.cancel()
      return response.status === 200
    })
  })
})
