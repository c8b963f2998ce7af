import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { isPending } from './pending.suite.ts'
import { type FaultProxy, startProxy } from './proxy.mjs'
import { type RedisServer, startRedis } from './redis.mjs'
import { connectResp } from './resp.mjs'
import { until } from './until.mjs'

let server: RedisServer
let proxy: FaultProxy

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

beforeEach(async () => {
  proxy = await startProxy(server.port)
  onTestFinished(() => proxy.stop())
})

const open = () => connectResp({ port: proxy.port })

/** Returns whether a reply does not come although the server is well. */
const isHeldBack = async (reply: Promise<unknown>) => isPending(reply, await server.connect())

it('forwards both ways, large values too', async () => {
  const connection = await open()
  const value = 'x'.repeat(1_000_000)
  await connection.send('SET', 'large', value)
  expect(await connection.send('GET', 'large')).toBe(value)
  expect(proxy.url).toBe(`redis://127.0.0.1:${proxy.port}`)
  expect(proxy.connections).toBe(1)
})

it('passes on that the client has gone', async () => {
  const connection = await open()
  await connection.send('CLIENT', 'SETNAME', 'passing')
  connection.close()
  await until(
    'Redis sees no client of that name',
    async () => !(await server.cli('CLIENT', 'LIST')).includes('passing'),
  )
  expect(proxy.connections).toBe(0)
})

it('passes on that the server has gone', async () => {
  const mortal = await startRedis()
  const through = await startProxy(mortal.port)
  onTestFinished(() => through.stop())
  const connection = await connectResp({ port: through.port })
  await connection.send('PING')
  await mortal.stop()
  await until('the connection is closed', () => !connection.isOpen)
})

it('as a black hole keeps connections open, takes new ones, and delivers later what it held back', async () => {
  const old = await open()
  await old.send('PING')
  proxy.blackhole()
  const late = old.send('PING')
  const fresh = await open()
  const alsoLate = fresh.send('PING')
  expect(await isHeldBack(Promise.any([late, alsoLate]))).toBe(true)
  expect(old.isOpen && fresh.isOpen).toBe(true)
  await proxy.heal()
  expect(await Promise.all([late, alsoLate])).toEqual(['PONG', 'PONG'])
})

it('refuses new connections and keeps open ones', async () => {
  const old = await open()
  await proxy.refuse()
  await expect(open()).rejects.toThrow('ECONNREFUSED')
  expect(await old.send('PING')).toBe('PONG')
  await proxy.heal()
  const fresh = await open()
  expect(await fresh.send('PING')).toBe('PONG')
})

it('delays replies, and keeps their order when the delay ends', async () => {
  const connection = await open()
  const direct = await server.connect()
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  proxy.delay(150)
  const first = connection.send('ECHO', 'first')
  while (vi.getTimerCount() === 0) await direct.send('PING')
  proxy.delay(0)
  const second = connection.send('ECHO', 'second')
  vi.advanceTimersByTime(149)
  expect(await isPending(Promise.any([first, second]), direct)).toBe(true)
  vi.advanceTimersByTime(1)
  expect(await Promise.all([first, second])).toEqual(['first', 'second'])
})

it('cuts all connections and takes new ones', async () => {
  const connection = await open()
  await connection.send('PING')
  proxy.blackhole()
  const pending = connection.send('PING')
  await Promise.all([expect(pending).rejects.toThrow('ECONNRESET'), proxy.cut()])
  await proxy.heal()
  expect(await (await open()).send('PING')).toBe('PONG')
})

it('rewrites replies and requests until it heals', async () => {
  const connection = await open()
  proxy.rewrite({ replies: () => '-READONLY you cannot write\r\n' })
  await expect(connection.send('PING')).rejects.toThrow('READONLY')
  proxy.rewrite({ requests: (chunk) => Buffer.from(chunk.toString().replace('ping', 'pong')) })
  expect(await connection.send('ECHO', 'ping')).toBe('pong')
  proxy.rewrite({ requests: () => undefined })
  expect(await isHeldBack(connection.send('PING'))).toBe(true)
  await proxy.heal()
  const fresh = await open()
  expect(await fresh.send('ECHO', 'ping')).toBe('ping')
})

it('stands before TLS as well', async () => {
  const secure = await startRedis({ tls: true })
  onTestFinished(() => secure.stop())
  const through = await startProxy(secure.port)
  onTestFinished(() => through.stop())
  const connection = await connectResp({ port: through.port, tls: secure.tls! })
  expect(await connection.send('PING')).toBe('PONG')
})
