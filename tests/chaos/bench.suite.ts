import { onTestFinished } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import type { Charge } from '../../src/engine/ports.ts'
import { StoreFault } from '../../src/engine/store-fault.ts'
import { RedisStore, type RedisStoreOptions } from '../../src/stores/redis/redis-store.ts'
import { type FaultProxy, startProxy } from '../servers/proxy.mjs'
import { type RedisEndpoint, type RedisOptions, type RedisServer, startRedis } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'

/** A window that does not end while a test runs, so that a counter is the number of charges. */
export const LIMIT = compileLimit({ algorithm: 'fixed_window', limit: 1_000_000, window: '520w' })
export const KEY = 'sluice:{1}:chaos'

export const charge = (cost = 1, change: Partial<Charge> = {}): Charge => ({
  key: KEY,
  limit: LIMIT,
  cost,
  enforce: true,
  ...change,
})

/** Starts a Redis, and proxy a proxy before one, that end with the running test. */
export async function server(options: RedisOptions = {}): Promise<RedisServer> {
  const started = await startRedis(options)
  onTestFinished(() => started.stop())
  return started
}

export async function proxyTo({ port }: RedisEndpoint): Promise<FaultProxy> {
  const started = await startProxy(port)
  onTestFinished(() => started.stop())
  return started
}

/** Returns how many hits the server has counted, and calls how often it was told to run a script. */
export async function charged(redis: RedisEndpoint): Promise<number> {
  const script =
    "local raw = redis.call('GET', KEYS[1]) if not raw then return 0 end return ({struct.unpack('<dI4', raw)})[2]"
  return Number(await redis.call('EVAL', script, 1, `${KEY}|${LIMIT.shape}`))
}

/** Returns how many runs of scripts and functions a server has seen, without those of a function it did not know. */
export async function calls(redis: RedisEndpoint): Promise<number> {
  const stats = String(await redis.call('INFO', 'commandstats'))
  const counts = ['evalsha', 'fcall'].map((name) => {
    const found = new RegExp(`^cmdstat_${name}:calls=(\\d+),.*failed_calls=(\\d+)`, 'm').exec(stats)
    return found === null ? 0 : Number(found[1]) - Number(found[2])
  })
  return counts[0] + counts[1]
}

/** A Bench is a RedisStore with a journal of what it tells, and a clock for its breakers that can be moved on. */
export interface Bench {
  readonly store: RedisStore
  readonly journal: string[]
  readonly told: (start: string) => string[]
  /** Lets the breaker's second pass. */
  readonly coolDown: () => void
  readonly connected: (times?: number) => Promise<unknown>
  /** Returns how a decision fails, or "none". Default: one that has all the time it needs. */
  readonly fault: (asked?: Charge) => Promise<string>
  /** Resolves when a decision succeeds again. */
  readonly heals: () => Promise<unknown>
}

/** Opens a store that closes with the running test. Its deadline is far off unless told otherwise. */
export function open(url: string, options: Partial<RedisStoreOptions> = {}): Bench {
  const journal: string[] = []
  let aheadMs = 0
  const store = new RedisStore({
    url,
    timeoutMs: 30_000,
    now: () => performance.now() + aheadMs,
    events: {
      connected: (shard) => journal.push(`connected ${shard}`),
      disconnected: (shard, reason) => journal.push(`disconnected ${shard} ${reason}`),
      warned: (warning) => journal.push(`warned ${warning}`),
      breakerChanged: (shard, state) => journal.push(`breaker ${state} ${shard}`),
      callEnded: (shard, _durationMs, decisions, fault) =>
        journal.push(`call ${shard} ${decisions} ${fault?.reason ?? 'ok'}`),
    },
    ...options,
  })
  onTestFinished(() => store.close())
  const told = (start: string): string[] => journal.filter((line) => line.startsWith(start))
  const coolDown = (): void => {
    aheadMs += 1_000
  }
  const fault = (asked = charge()): Promise<string> =>
    store.decide([asked]).then(
      () => 'none',
      (error: unknown) => (error instanceof StoreFault ? error.reason : `not a StoreFault: ${error}`),
    )
  return {
    store,
    journal,
    told,
    coolDown,
    fault,
    connected: (times = 1) => until('the store is connected', () => told('connected').length >= times),
    heals: () =>
      until('a decision succeeds', async () => {
        coolDown()
        return (await store.decide([charge(0)])).length === 1
      }),
  }
}
