import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import type { Charge } from '../../src/engine/ports.ts'
import { CasStore } from '../../src/stores/cas/cas-store.ts'
import { partOf } from '../../src/stores/cas/map-engine.suite.ts'
import { MemcachedEngine } from '../../src/stores/memcached/memcached-engine.ts'
import { memcachedPlace } from '../../src/stores/memcached/memcached-place.ts'
import { storeSuite } from '../../src/stores/store.suite.ts'
import { type MemcachedServer, startMemcached } from '../servers/memcached.mjs'
import { startProxy } from '../servers/proxy.mjs'
import { until } from '../servers/until.mjs'

let server: MemcachedServer
const engines: MemcachedEngine[] = []
const engineOn = (...ports: number[]): MemcachedEngine => {
  const engine = new MemcachedEngine(ports.map((port) => ({ host: '127.0.0.1', port })))
  engines.push(engine)
  return engine
}
beforeAll(async () => {
  server = await startMemcached()
})
afterAll(async () => {
  for (const engine of engines) await engine.close()
  await server.stop()
})

/** Counters of the kit live by a clock of their own: Memcached must not forget them by its. */
function kept(engine: MemcachedEngine, prefix: string): ReturnType<typeof partOf> {
  const part = partOf(engine, prefix)
  return {
    ...part,
    write: (writes) => part.write(writes.map((write) => ({ ...write, ttlMs: Math.max(write.ttlMs, 3_600_000) }))),
  }
}

let parts = 0
storeSuite(
  'memcached store',
  async ({ startMs }) => {
    let nowMs = startMs
    const engine = kept(engineOn(server.port), `${++parts}|`)
    const store = new CasStore(engine, { timeoutMs: 60_000, clock: { nowMs: () => nowMs } })
    return {
      store,
      setNowMs: (next) => {
        nowMs = next
      },
      close: () => store.close(),
    }
  },
  { seeds: [3_729_438_487], operations: 1_000 },
)

const TEN = compileLimit({ limit: 10, window: '1d', algorithm: 'sliding_log' })
const charge = (key: string, cost = 1, limit = TEN): Charge => ({ key, limit, cost, enforce: true })
const open = (engine: MemcachedEngine): CasStore => new CasStore(engine, { timeoutMs: 60_000 })
const remaining = async (store: CasStore, key: string, limit = TEN): Promise<number> =>
  (await store.decide([charge(key, 0, limit)]))[0].remaining

describe('memcached engine', () => {
  it('knows names that Memcached does not take, and counters as large as they come', async () => {
    const store = open(engineOn(server.port))
    const keys = [
      'with space',
      'é',
      'line\r\nbreak',
      `${'k'.repeat(60_000)}1`,
      `${'k'.repeat(60_000)}2`,
      'k'.repeat(240),
    ]
    for (const [i, key] of keys.entries()) await store.decide([charge(key, i + 1)])
    expect(await Promise.all(keys.map((key) => remaining(store, key)))).toEqual(keys.map((_, i) => 9 - i))
    const many = compileLimit({ limit: 2_000, algorithm: 'concurrency', leaseTtl: '1d' })
    for (let i = 0; i < 1_500; i++) void store.acquire([charge('large', 1, many)])
    expect(await remaining(store, 'large', many)).toBe(500)
  })

  it.each([500, 31 * 86_400_000, 400 * 86_400_000])(
    'keeps a counter for the time that it needs (%d ms)',
    async (ms) => {
      const engine = engineOn(server.port)
      const name = `ttl ${ms}`
      await engine.write([{ name, text: 'x', base: undefined, version: '', ttlMs: ms, group: 0 }])
      expect((await engine.read([name]))[0]?.text).toBe('x')
      if (ms < 1_000) await until('it has expired', async () => (await engine.read([name]))[0] === undefined)
    },
  )

  it('spreads counters over several servers, and finds each where it is', async () => {
    const other = await startMemcached()
    onTestFinished(() => other.stop())
    const [one, two] = [open(engineOn(server.port, other.port)), open(engineOn(server.port, other.port))]
    const keys = Array.from({ length: 40 }, (_, i) => `spread ${i}`)
    for (const key of keys) await one.decide([charge(key, 3)])
    expect(await Promise.all(keys.map((key) => remaining(two, key)))).toEqual(keys.map(() => 7))
    const alone = await engineOn(other.port).read(keys.map((key) => `${key}|${TEN.shape}`))
    const there = alone.filter((each) => each !== undefined).length
    expect(there).toBeGreaterThan(5)
    expect(there).toBeLessThan(35)
  })

  it('follows the clock of the server', async () => {
    const { ms, withinMs } = await engineOn(server.port).time()
    expect(Math.abs(Date.now() - ms - withinMs / 2)).toBeLessThan(60_000)
  })

  it('refuses addresses that are none', () => {
    for (const wrong of ['', 'host:99999', 'user@host:1', 'host/path', [], 7]) {
      expect(() => memcachedPlace(wrong as string, {})).toThrow('STORE_PLACE_INVALID')
    }
    expect(memcachedPlace(['a', 'b:1'], {}).makeEngine().name).toBe('memcached a:11211,b:1')
  })
})

describe('a Memcached that fails', () => {
  it('counts a charge once whose answer is cut off', async () => {
    const proxy = await startProxy(server.port)
    onTestFinished(() => proxy.stop())
    const [direct, cut] = [open(engineOn(server.port)), open(engineOn(proxy.port))]
    await cut.decide([charge('cut')])
    for (let counted = 2; counted <= 4; counted++) {
      proxy.rewrite({ replies: () => undefined })
      const answer = cut.decide([charge('cut')])
      answer.catch(() => {})
      await until('the charge has arrived', async () => (await remaining(direct, 'cut')) === 10 - counted)
      await proxy.heal()
      await proxy.cut()
      expect(await answer).toMatchObject([{ kind: 'allowed', remaining: 10 - counted }])
    }
  })

  it('is offline while it is away; a restart forgets all counters', async () => {
    const own = await startMemcached()
    onTestFinished(() => own.stop())
    const store = open(engineOn(own.port))
    await store.decide([charge('a', 10)])
    await own.stop()
    await until('it is offline', () =>
      store.decide([charge('a')]).then(
        () => false,
        ({ reason }) => reason === 'offline',
      ),
    )
    await own.restart()
    const verdicts = await until('it answers', () => store.decide([charge('a')]).catch(() => undefined))
    expect(verdicts).toMatchObject([{ kind: 'allowed', remaining: 9 }])
  })

  it('says so when it is full and may not evict, and charges nothing', async () => {
    const full = await startMemcached('-m', '1', '-M', '-I', '512k')
    onTestFinished(() => full.stop())
    const engine = engineOn(full.port)
    const text = 'x'.repeat(100_000)
    const fill = async (): Promise<void> => {
      for (let i = 0; i < 2_000; i++) {
        await engine.write([{ name: `fill ${i}`, text, base: undefined, version: '', ttlMs: 60_000, group: 0 }])
      }
    }
    await expect(fill()).rejects.toMatchObject({ reason: 'unavailable' })
  })

  it('begins a counter anew that was evicted', async () => {
    const small = await startMemcached('-m', '1', '-I', '512k')
    onTestFinished(() => small.stop())
    const engine = engineOn(small.port)
    const store = open(engine)
    await store.decide([charge('evicted', 10)])
    // Items of about the same size share memory; to look at one keeps it.
    const [stored] = await engine.read([`evicted|${TEN.shape}`])
    const text = stored?.text ?? ''
    let filled = 0
    await until('the counter is evicted', async () => {
      for (let i = 0; i < 100; i++) {
        const names = Array.from({ length: 200 }, () => `f${++filled}`.padEnd(`evicted|${TEN.shape}`.length, '.'))
        await engine.write(
          names.map((name, group) => ({ name, text, base: undefined, version: '', ttlMs: 60_000, group })),
        )
      }
      return (await engine.read([`evicted|${TEN.shape}`]))[0] === undefined
    })
    expect(await store.decide([charge('evicted')])).toMatchObject([{ kind: 'allowed', remaining: 9 }])
  })
})
