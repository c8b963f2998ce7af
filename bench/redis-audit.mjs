import { KeyedHash } from '../dist/core/hash.js'
import { KeyEncoder } from '../dist/core/key-encoder.js'
import { compileObjects } from '../dist/core/rules/compile.js'
import { Planner } from '../dist/engine/plan.js'
import { RedisStore } from '../dist/stores/redis/redis-store.js'

const TIMEOUT_MS = 60_000
const AT_ONCE = 500
const PATIENT = { onStoreFailure: 'closed', localShare: 1, timeoutMs: TIMEOUT_MS }

/**
 * Adds up what the counters of these limits have been charged on a server, over all callers: what was counted, whatever
 * was answered. The limits must give nothing back while a benchmark runs: windows of a day. Slices that are out are not
 * charged yet: their holder must have given them back.
 */
export async function chargedIn(server, limits) {
  const keys = await keysOf(server)
  const store = await openStore(server.url)
  const charges = keys.flatMap((stored) => {
    const limit = limits.find(({ shape }) => stored.endsWith(`|${shape}`))
    return limit === undefined ? [] : [{ key: stored.slice(0, -limit.shape.length - 1), limit }]
  })
  const charged = await chargedTo(store, charges)
  await store.close()
  return charged
}

/** Adds up what these counters have been charged, each of which must stand there once. */
export async function chargedTo(store, counters) {
  let charged = 0
  const look = async ({ key, limit }) => {
    const [{ remaining }] = await store.decide([{ key, limit, cost: 0, enforce: true, policy: PATIENT }])
    charged += limit.capacity - remaining
  }
  for (let from = 0; from < counters.length; from += AT_ONCE)
    await Promise.all(counters.slice(from, from + AT_ONCE).map(look))
  return charged
}

/** Returns what a `rate_limit` of a rule becomes. */
export function limitOf(rateLimit) {
  const rules = compileObjects([{ domain: 'audit', descriptors: [{ key: 'caller', rate_limit: rateLimit }] }])
  const entries = [{ key: 'caller', value: 'any' }]
  const [{ limit }] = new Planner(new KeyEncoder(new KeyedHash(1, 2))).plan(rules, {
    domain: 'audit',
    descriptors: [{ entries }],
  })
  return limit
}

async function openStore(url) {
  let store
  await new Promise((resolve) => {
    store = new RedisStore({ url, timeoutMs: TIMEOUT_MS, events: { connected: resolve } })
  })
  return store
}

async function keysOf(server) {
  const connection = await server.connect()
  const keys = new Set()
  let cursor = '0'
  do {
    const [next, found] = await connection.send('SCAN', cursor, 'TYPE', 'string', 'COUNT', 5_000)
    cursor = String(next)
    for (const key of found) keys.add(String(key))
  } while (cursor !== '0')
  connection.close()
  return [...keys]
}

/** All processor time of a server so far, in user mode and in the kernel. */
export async function cpuUsOf(server) {
  const info = String(await server.call('INFO', 'cpu'))
  const field = (name) => Number(new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)[1])
  return 1e6 * (field('used_cpu_user') + field('used_cpu_sys'))
}

/** The time that a server has spent inside of some commands so far, in µs. */
export async function usedByCommands(server, names) {
  const info = String(await server.call('INFO', 'commandstats'))
  const usedBy = (name) => Number(new RegExp(`^cmdstat_${name}:calls=[0-9]+,usec=([0-9]+)`, 'm').exec(info)?.[1] ?? 0)
  return names.reduce((sum, name) => sum + usedBy(name), 0)
}

/** SUM_OF_ALL adds up all counters of a server that holds nothing but counters that are one number each. */
export const SUM_OF_ALL = `local sum = 0
for _, key in ipairs(redis.call('KEYS', '*')) do sum = sum + redis.call('GET', key) end
return sum`

export const sumOfAll = async (server) => Number(await server.call('EVAL', SUM_OF_ALL, 0))
