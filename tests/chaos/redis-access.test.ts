import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import type { HeldPermits } from '../../src/engine/ports.ts'
import type { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { until } from '../servers/until.mjs'
import { charge, charged, KEY, open, proxyTo, server } from './bench.suite.ts'

describe('the ACL of docs/redis.md', () => {
  const document = readFileSync(new URL('../../docs/redis.md', import.meta.url), 'utf8')
  const line = /^ACL SETUSER .*$/m.exec(document)?.[0] ?? ''

  it('is enough for everything that the store does', async () => {
    const redis = await server({ args: ['--maxmemory-policy', 'allkeys-lru'] })
    expect(await redis.call(...line.split(' '))).toBe('OK')
    const bench = open(`redis://sluice:password@127.0.0.1:${redis.port}/1`)
    await bench.connected()
    const places = compileLimit({ algorithm: 'concurrency', limit: 3 })
    const window = compileLimit({ limit: 3, window: '1m' })
    for (const limit of [window, compileLimit({ algorithm: 'sliding_log', limit: 3, window: '1m' })]) {
      for (const cost of [1, 0, 5, -1]) await bench.store.decide([charge(cost, { limit })])
    }
    const { permits: lease } = await bench.store.acquire([charge(1, { limit: places }), charge()])
    await bench.store.acquire([charge(1, { limit: places })])
    await bench.store.release(lease as HeldPermits)
    await bench.store.reset(KEY, window)
    await redis.call('SCRIPT', 'FLUSH')
    await bench.store.decide([charge()])
    await lendAndNotify(bench.store)
    for (const hits of [1, 0]) await bench.store.run('count', KEY, [60_000, 1, 'restart', hits], 5_000)
    await bench.store.run('throttle', `${KEY}:throttle`, ['', 60_000, 1, 0, 'log'], 5_000)
    await until('the server was pinged', async () => {
      return /cmdstat_ping:calls=([2-9]|\d\d)/.test(String(await redis.call('INFO', 'commandstats')))
    })
    expect(bench.told('warned')).toHaveLength(1)
    expect(await redis.call('ACL', 'LOG')).toEqual([])
  })

  it('is asked for when a user may do all but listen', async () => {
    const redis = await server()
    await redis.call(...line.replace(' +subscribe', '').split(' '))
    const bench = open(`redis://sluice:password@127.0.0.1:${redis.port}`)
    bench.store.listen({ noticed() {}, connected() {} })
    await until('it is notified', () => bench.told('warned').length > 0)
    expect(String(bench.told('warned')[0])).toContain('the Redis user may not subscribe to sluice:notices')
  })

  it('allows no other keys and no other commands', async () => {
    const redis = await server()
    await redis.call(...line.split(' '))
    const user = await redis.connect({ username: 'sluice', password: 'password' })
    for (const command of ['GET other', 'KEYS *', 'FLUSHALL', 'CONFIG GET save', 'SCRIPT FLUSH', 'PUBLISH a b']) {
      await expect(user.send(...command.split(' '))).rejects.toThrow('NOPERM')
    }
    user.close()
  })
})

/** Does all that slices need: lends, takes back, charges what ran out, and tells others. */
async function lendAndNotify(store: RedisStore): Promise<void> {
  const limit = compileLimit({ limit: 30, window: '1m' })
  const request = {
    key: KEY,
    limit,
    holder: 'a',
    sequence: 1,
    spent: 0,
    confirmed: 0,
    keep: 0,
    need: 5,
    ahead: 5,
    cost: 1,
  }
  const heard: string[] = []
  const stop = store.listen({
    noticed: ({ kind }) => heard.push(kind),
    connected: (isConnected) => {
      if (isConnected) store.notify({ kind: 'clear', key: KEY })
    },
  })
  await store.exchange({ ...request, leaseMs: 1, timeoutMs: 60_000 })
  await until('the slice has run out', async () => {
    const reply = await store.exchange({
      ...request,
      holder: 'b',
      sequence: Date.now(),
      leaseMs: 1_000,
      timeoutMs: 60_000,
    })
    return reply.holders === 1
  })
  await until('the notice is heard', () => heard.includes('clear'))
  stop()
}

describe('the way in', () => {
  it('is a password, in which anything may stand', async () => {
    const redis = await server({ password: 'p@ss:w/rd%' })
    const bench = open(redis.url)
    await bench.connected()
    expect(await bench.fault()).toBe('none')
    expect(await charged(redis)).toBe(1)
  })

  it('stays closed with a wrong password, and that is reported', async () => {
    const redis = await server({ password: 'right' })
    const bench = open(`redis://:wrong@127.0.0.1:${redis.port}`)
    await until('it is refused', () => bench.told('disconnected').length > 0)
    expect(bench.told('disconnected')[0]).toMatch(/WRONGPASS/)
    expect(await bench.fault()).toBe('offline')
    expect(bench.journal.join()).not.toContain('wrong@')
  })

  it('is a separate database', async () => {
    const redis = await server()
    const bench = open(`${redis.url}/3`)
    await bench.connected()
    expect(await bench.fault()).toBe('none')
    expect(await charged(redis)).toBe(0)
    expect(await redis.cli('-n', '3', 'DBSIZE')).toBe('1')
  })

  it('is a Unix socket', async () => {
    const redis = await server({ unixSocket: true })
    const bench = open(`unix://${redis.socketPath}`)
    await bench.connected()
    expect(await bench.fault()).toBe('none')
    expect(await charged(redis)).toBe(1)
  })

  it('is TLS, with a private authority', async () => {
    const redis = await server({ tls: true })
    const bench = open(redis.url, { tls: { ca: redis.tls?.ca as string } })
    await bench.connected()
    expect(await bench.fault()).toBe('none')
    expect(await charged(redis)).toBe(1)
  })

  it('is TLS, with a certificate for either side', async () => {
    const redis = await server({ tls: 'mutual' })
    const { ca, cert, key } = redis.tls as { ca: string; cert: string; key: string }
    const [known, stranger] = [open(redis.url, { tls: { ca, cert, key } }), open(redis.url, { tls: { ca } })]
    await known.connected()
    expect(await known.fault()).toBe('none')
    await until('the stranger is refused', () => stranger.told('disconnected').length > 0)
    expect(await stranger.fault()).toBe('offline')
  })

  it('stays closed when the server’s authority is unknown', async () => {
    const redis = await server({ tls: true })
    const bench = open(redis.url)
    await until('it is refused', () => bench.told('disconnected').length > 0)
    expect(bench.told('disconnected')[0]).toMatch(/certificate/)
    expect(await bench.fault()).toBe('offline')
  })
})

describe('a server that throws counters away', () => {
  it.each(['allkeys-lru', 'allkeys-lfu', 'allkeys-random'])('with %s is warned about, once', async (policy) => {
    const redis = await server({ args: ['--maxmemory-policy', policy] })
    const proxy = await proxyTo(redis)
    const bench = open(proxy.url)
    await bench.connected()
    await bench.heals()
    await proxy.cut()
    await bench.connected(2)
    await bench.heals()
    expect(bench.told('warned')).toEqual([
      `warned maxmemory-policy is ${policy}: counters may be evicted and so forgiven; use noeviction or volatile-ttl`,
    ])
  })

  it.each(['noeviction', 'volatile-ttl', 'volatile-lru'])('is not one with %s', async (policy) => {
    const redis = await server({ args: ['--maxmemory-policy', policy] })
    const bench = open(redis.url)
    await bench.connected()
    await bench.heals()
    expect(bench.told('warned')).toEqual([])
  })
})
