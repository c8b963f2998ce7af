import { describe, expect, it } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import type { HeldPermits } from '../../src/engine/ports.ts'
import { until } from '../servers/until.mjs'
import { calls, charge, charged, open, proxyTo, server } from './bench.suite.ts'

const PLACES = compileLimit({ algorithm: 'concurrency', limit: 3 })

/** A charge for a Redis that is known to be silent. All others have the time that they need on a busy machine. */
const hasty = () => charge(1, { policy: { onStoreFailure: 'open', localShare: 1, timeoutMs: 30 } })

describe('Redis that is down', () => {
  it('at the start is "offline" immediately, and is used as soon as it is up', async () => {
    const redis = await server()
    await redis.kill()
    const bench = open(redis.url)
    expect(await bench.fault()).toBe('offline')
    await redis.restart()
    await bench.connected()
    expect(await bench.fault()).toBe('none')
    expect(await charged(redis)).toBe(1)
  })

  it('gets nothing late of what was asked meanwhile', async () => {
    const redis = await server()
    await redis.kill()
    const bench = open(redis.url)
    const faults = await Promise.all(Array.from({ length: 1_000 }, () => bench.fault()))
    expect(new Set(faults)).toEqual(new Set(['offline']))
    await redis.restart()
    await bench.connected()
    await bench.store.decide([charge(0)])
    expect([await charged(redis), await calls(redis)]).toEqual([0, 1])
  })

  it('does not open the breaker: there is nothing to protect, and the first connection is used', async () => {
    const redis = await server()
    await redis.kill()
    const bench = open(redis.url)
    for (let i = 0; i < 10; i++) expect(await bench.fault()).toBe('offline')
    expect(bench.told('breaker')).toEqual([])
  })

  it('refuses every operation with a StoreFault', async () => {
    const redis = await server()
    await redis.kill()
    const { store } = open(redis.url)
    const lease: HeldPermits = { id: '0011223344556677', held: [{ key: 'p', limit: PLACES }] }
    const offline = { name: 'StoreFault', reason: 'offline' }
    await expect(store.acquire([charge(1, { limit: PLACES })])).rejects.toMatchObject(offline)
    await expect(store.release(lease)).rejects.toMatchObject(offline)
    await expect(store.reset('p', PLACES)).rejects.toMatchObject(offline)
  })

  it('reports that it was lost and that it recovered', async () => {
    const redis = await server()
    const bench = open(redis.url)
    await bench.connected()
    await redis.kill()
    await until('the store notices', () => bench.told('disconnected').length > 0)
    await redis.restart()
    await bench.connected(2)
    expect(bench.journal[0]).toBe('connected redis')
    expect(bench.journal[1]).toMatch(/^disconnected redis ./)
    expect(bench.journal.at(-1)).toBe('connected redis')
  })
})

describe('a connection that breaks while a charge is in flight', () => {
  it('leaves a charge that was made as it is: once', async () => {
    const redis = await server()
    const proxy = await proxyTo(redis)
    const bench = open(proxy.url)
    await bench.connected()
    await bench.store.decide([charge(0)])
    proxy.rewrite({ replies: () => undefined })
    const fault = bench.fault()
    await until('the server has counted', async () => (await charged(redis)) === 1)
    await proxy.cut()
    expect(await fault).toBe('broken')
    await proxy.heal()
    await bench.connected(2)
    await bench.store.decide([charge(0)])
    expect(await charged(redis)).toBe(1)
  })

  it('does not make a charge that was not made', async () => {
    const redis = await server()
    const proxy = await proxyTo(redis)
    const bench = open(proxy.url)
    await bench.connected()
    await bench.store.decide([charge(0)])
    proxy.blackhole()
    const fault = bench.fault()
    // Two turns, after which the client has written.
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
    await proxy.cut()
    expect(await fault).toBe('broken')
    await proxy.heal()
    await bench.connected(2)
    await bench.store.decide([charge(0)])
    expect(await charged(redis)).toBe(0)
  })

  it('is replaced by one, however often that happens', async () => {
    const redis = await server()
    const proxy = await proxyTo(redis)
    const bench = open(proxy.url)
    for (let times = 1; times <= 8; times++) {
      await bench.connected(times)
      await proxy.cut()
    }
    await bench.connected(9)
    await bench.heals()
    expect(proxy.connections).toBe(1)
  })
})

describe('Redis that is silent', () => {
  it('has its decisions end by their deadline, then its breaker open, and close when a probe succeeds', async () => {
    const redis = await server()
    const bench = open(redis.url)
    await bench.connected()
    await bench.heals()
    const callsBefore = bench.told('call').length
    await redis.pause()
    const faults: string[] = []
    // A timeout in a stall of this process does not count, so there may be more than three.
    while (bench.told('breaker').length === 0) faults.push(await bench.fault(hasty()))
    expect(faults.length).toBeGreaterThanOrEqual(3)
    expect(new Set(faults)).toEqual(new Set(['timeout']))
    expect(bench.told('breaker')).toEqual(['breaker open redis'])
    const callsThen = bench.told('call').length
    expect(callsThen - callsBefore).toBe(faults.length)
    for (let i = 0; i < 5; i++) expect(await bench.fault()).toBe('breaker_open')
    expect(bench.told('call')).toHaveLength(callsThen)
    redis.resume()
    await bench.heals()
    expect(bench.told('breaker')).toEqual(['breaker open redis', 'breaker half_open redis', 'breaker closed redis'])
  })

  it.each([
    ['first', [20, 600_000, 600_000]],
    ['in the middle', [600_000, 20, 600_000]],
    ['last', [600_000, 600_000, 20]],
  ])('ends a decision by the shortest deadline of its rules, which may stand %s', async (_, timeouts) => {
    const redis = await server()
    const bench = open(redis.url, { timeoutMs: 600_000 })
    await bench.connected()
    await redis.pause()
    const policy = { onStoreFailure: 'open', localShare: 1 } as const
    const group = timeouts.map((timeoutMs) => charge(1, { policy: { ...policy, timeoutMs } }))
    await expect(bench.store.decide(group)).rejects.toMatchObject({ reason: 'timeout' })
    redis.resume()
  })

  it('ends a decision by the deadline of the store where its rules say nothing', async () => {
    const redis = await server()
    const bench = open(redis.url, { timeoutMs: 20 })
    await bench.connected()
    await redis.pause()
    const policy = { onStoreFailure: 'open', localShare: 1, timeoutMs: 600_000 } as const
    await expect(bench.store.decide([charge(), charge(1, { policy })])).rejects.toMatchObject({ reason: 'timeout' })
    redis.resume()
  })

  it('ends a release and a reset by their deadline too', async () => {
    const redis = await server()
    const bench = open(redis.url, { timeoutMs: 50 })
    await bench.connected()
    const { permits: lease } = await until('a place', () => bench.store.acquire([charge(1, { limit: PLACES })]))
    await redis.pause()
    await expect(bench.store.release(lease as HeldPermits)).rejects.toMatchObject({ reason: 'timeout' })
    await expect(bench.store.reset('p', PLACES)).rejects.toMatchObject({ reason: 'timeout' })
    redis.resume()
  })

  it('has its connection dropped and replaced when decisions fail', async () => {
    const redis = await server()
    const proxy = await proxyTo(redis)
    const bench = open(proxy.url)
    await bench.connected()
    await bench.heals()
    proxy.blackhole()
    for (let i = 0; i < 3; i++) expect(await bench.fault(hasty())).toBe('timeout')
    await until('the connection is dropped', () => bench.told('disconnected').length > 0)
    await proxy.cut()
    await proxy.heal()
    await bench.heals()
    expect(proxy.connections).toBe(1)
  })

  it('has its connection dropped when nothing is asked, and an idle healthy one has not', async () => {
    const redis = await server()
    const proxy = await proxyTo(redis)
    const [silent, well] = [open(proxy.url), open(redis.url)]
    await Promise.all([silent.connected(), well.connected()])
    proxy.blackhole()
    await until('the silent one is dropped', () => silent.told('disconnected').length > 0)
    await proxy.cut()
    await proxy.heal()
    await silent.connected(2)
    expect(well.journal).toEqual(['connected redis'])
  })
})

describe('a process that was busy', () => {
  const blockMs = (ms: number): void => {
    const end = performance.now() + ms
    while (performance.now() < end);
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  it.each([
    ['before a decision is sent', 0],
    ['while a decision is written', 1],
    ['while the answer is on its way', 3],
  ])('%s does not take the answer for late', async (_, turns) => {
    const redis = await server()
    const bench = open(redis.url)
    await bench.connected()
    // Redis, too, may take longer than that on a busy machine. The time that this process was busy for is always longer.
    await until('the answer is in time', async () => {
      await bench.heals()
      const fault = bench.fault(hasty())
      for (let waited = 0; waited < turns; waited++) await turn()
      blockMs(150)
      return (await fault) === 'none'
    })
  })
})

describe('a script that the server does not know', () => {
  it('is sent in full, and counted once', async () => {
    const redis = await server()
    const bench = open(redis.url)
    await bench.connected()
    expect(await bench.fault()).toBe('none')
    await redis.call('SCRIPT', 'FLUSH')
    expect(await Promise.all([bench.fault(), bench.fault(), bench.fault()])).toEqual(['none', 'none', 'none'])
    expect(await charged(redis)).toBe(4)
    await redis.restart()
    await bench.connected(2)
    expect(await bench.fault()).toBe('none')
    expect(await charged(redis)).toBe(1)
    expect(bench.told('breaker')).toEqual([])
  })
})

describe('close', () => {
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCPSocket')).length

  it('ends immediately whatever the connection does, and leaves no socket', async () => {
    const redis = await server()
    const proxy = await proxyTo(redis)
    const gone = await server()
    await gone.kill()
    const before = sockets()
    const connected = open(redis.url)
    await connected.connected()
    proxy.blackhole()
    const benches = [connected, open(proxy.url), open(gone.url), open(redis.url)]
    await until('the proxy has its connection', () => proxy.connections === 1)
    await Promise.all(benches.map(({ store }) => store.close()))
    expect(await connected.fault()).toBe('offline')
    await proxy.cut()
    await until('no socket is left', () => sockets() <= before)
  })

  it('ends calls in flight with a fault', async () => {
    const redis = await server()
    const bench = open(redis.url)
    await bench.connected()
    await redis.pause()
    const fault = bench.fault()
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
    await bench.store.close()
    expect(await fault).toBe('broken')
    redis.resume()
  })
})
