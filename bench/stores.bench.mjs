import pg from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { compileLimit } from '../dist/core/limit.js'
import { CasStore } from '../dist/stores/cas/cas-store.js'
import { memcachedPlace } from '../dist/stores/memcached/memcached-place.js'
import { runSqlOf, tableOf } from '../dist/stores/postgres/postgres-client.js'
import { PostgresEngine } from '../dist/stores/postgres/postgres-engine.js'
import { RedisStore } from '../dist/stores/redis/redis-store.js'
import { HttpRedisClient } from '../dist/stores/redis-http/http-client.js'
import { startMemcached } from '../tests/servers/memcached.mjs'
import { startPostgres } from '../tests/servers/postgres.mjs'
import { startRedis } from '../tests/servers/redis.mjs'
import { startRedisHttp } from '../tests/servers/redis-http.mjs'
import { count, header, median, spread, table } from './report.mjs'
import { measureRounds } from './rounds.mjs'

// npm run bench -- stores [--quick]: decisions through the stores that are not Redis, and through
// rate-limiter-flexible's PostgreSQL, with so many callers waiting at any time. A round in which a decision failed, was
// refused or was not counted is void.

const isQuick = process.argv.includes('--quick')
const ROUNDS = isQuick ? 1 : 3
const MEASURE_MS = isQuick ? 1_000 : 3_000
const CALLERS = 128
const LIMIT = 1_000_000_000
const KEYS = [1, 1_000]
const GOALS = { peer: 3, oneKey: 5_000, manyKeys: 10_000 }

const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const verdict = (isMet) => (isMet ? 'met' : 'missed')
const limit = compileLimit({ limit: LIMIT, window: '1d', algorithm: 'fixed_window' })
let runs = 0

const servers = {
  postgres: await startPostgres(['shared_buffers=128MB', 'fsync=on', 'synchronous_commit=on']),
  memcached: await startMemcached(),
  redis: await startRedis(),
}
const front = await startRedisHttp(servers.redis.url, 'token')
const pool = new pg.Pool({ connectionString: servers.postgres.url(), max: 10 })

/** Counts the calls of an object's functions. */
function counting(target, names, calls) {
  for (const name of names) {
    const own = target[name].bind(target)
    target[name] = (...args) => {
      calls.count++
      return own(...args)
    }
  }
  return target
}

/** Makes a contestant of a store of ours. */
function ours(open) {
  return async () => {
    const calls = { count: 0 }
    const store = await open(calls)
    const decide = (key, cost) => store.decide([{ key, limit, cost, enforce: true }])
    return {
      calls,
      hit: async (key) => (await decide(key, 1))[0].allowed,
      used: async (key) => LIMIT - (await decide(key, 0))[0].remaining,
      close: () => store.close(),
    }
  }
}

const CONTESTANTS = {
  'sluice, PostgreSQL': ours((calls) => {
    const run = runSqlOf(pool)
    const counted = (sql, values) => {
      calls.count++
      return run(sql, values)
    }
    const engine = { run: counted, name: 'postgres', table: tableOf(`counters_${runs}`), isLogged: false }
    return new CasStore(new PostgresEngine(engine), { timeoutMs: 60_000 })
  }),
  'rate-limiter-flexible, PostgreSQL': async () => {
    const calls = { count: 0 }
    const limiter = await new Promise((resolve, reject) => {
      const options = { storeClient: pool, points: LIMIT, duration: 86_400, tableName: `peer_${runs}` }
      const made = new RateLimiterPostgres(options, (error) => (error ? reject(error) : resolve(made)))
    })
    const hit = async (key) => {
      calls.count++
      return (await limiter.consume(key)).remainingPoints >= 0
    }
    return { calls, hit, used: async (key) => (await limiter.get(key)).consumedPoints, close: async () => {} }
  },
  'sluice, Memcached': ours((calls) => {
    const engine = memcachedPlace(servers.memcached.address, {}).makeEngine()
    const perCounter = (names) => {
      calls.count += names.length
      return names
    }
    const { read, write } = engine
    engine.read = (names) => read.call(engine, perCounter(names))
    engine.write = (writes) => write.call(engine, perCounter(writes))
    return new CasStore(engine, { timeoutMs: 60_000 })
  }),
  'sluice, Redis over HTTP': ours((calls) => {
    const client = counting(new HttpRedisClient({ url: front.url, token: 'token' }), ['sendCommand'], calls)
    return new RedisStore({ url: client, timeoutMs: 60_000 })
  }),
}

async function measure({ contestant, keys }) {
  runs++
  const { calls, hit, used, close } = await CONTESTANTS[contestant]()
  const names = Array.from({ length: keys }, (_, i) => `run ${runs} key ${i}`)
  await Promise.all(names.slice(0, CALLERS).map(hit))
  const voids = []
  const times = []
  const hits = new Map(names.slice(0, CALLERS).map((name) => [name, 1]))
  const callsBefore = calls.count
  const from = performance.now()
  const until = from + MEASURE_MS
  const caller = async (first) => {
    for (let i = first; performance.now() < until; i += CALLERS) {
      const name = names[(i * 7_919) % keys]
      const at = performance.now()
      const isAllowed = await hit(name).catch((error) => void voids.push(String(error)))
      times.push(performance.now() - at)
      hits.set(name, (hits.get(name) ?? 0) + 1)
      if (isAllowed !== true) voids.push('a decision was refused')
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, i) => caller(i)))
  const tookMs = performance.now() - from
  const callsMade = calls.count - callsBefore
  for (const name of names.slice(0, 20)) {
    const stored = hits.has(name) ? await used(name) : 0
    if (stored !== (hits.get(name) ?? 0)) voids.push(`${name}: ${stored} of ${hits.get(name)} hits are stored`)
  }
  await close()
  times.sort((a, b) => a - b)
  return {
    voids: voids.slice(0, 3),
    perSecond: (times.length / tookMs) * 1_000,
    p99Ms: times[Math.floor(times.length * 0.99)],
    callsPerMillion: (callsMade / times.length) * 1_000_000,
  }
}

const tasks = KEYS.flatMap((keys) => Object.keys(CONTESTANTS).map((contestant) => ({ contestant, keys })))
const nameOf = ({ contestant, keys }) => `${contestant}, ${count(keys)} key${keys === 1 ? '' : 's'}`

say(header('npm run bench -- stores', ['rate-limiter-flexible', 'pg']))
const results = await measureRounds(tasks, ROUNDS, { measure, nameOf })
const middle = (i, field) => median(results[i].map((run) => run[field]))
const rows = tasks.flatMap((task, i) =>
  results[i].length === 0
    ? []
    : [
        [
          nameOf(task),
          count(Math.round(middle(i, 'perSecond'))),
          `± ${spread(results[i].map((run) => run.perSecond)).toFixed(0)} %`,
          `${middle(i, 'p99Ms').toFixed(1)} ms`,
          count(Math.round(middle(i, 'callsPerMillion'))),
        ],
      ],
)
say(
  `${CALLERS} callers, ${MEASURE_MS} ms a round; calls are statements, commands or requests`,
  '',
  table(['', 'decisions/s', 'spread', 'p99', 'calls for a million'], rows),
)
for (const [at, keys] of KEYS.entries()) {
  const [mine, peer] = [4 * at, 4 * at + 1]
  if (results[mine].length === 0 || results[peer].length === 0) continue
  const ratio = middle(mine, 'perSecond') / middle(peer, 'perSecond')
  const goal = keys === 1 ? GOALS.oneKey : GOALS.manyKeys
  say(
    `PostgreSQL, ${count(keys)} key${keys === 1 ? '' : 's'}: ${ratio.toFixed(1)} × rate-limiter-flexible (goal ${GOALS.peer}: ${verdict(ratio >= GOALS.peer)}), ` +
      `${count(Math.round(middle(mine, 'perSecond')))}/s (goal ${count(goal)}: ${verdict(middle(mine, 'perSecond') >= goal)})`,
  )
}
await front.stop()
await pool.end()
await Promise.all(Object.values(servers).map((server) => server.stop()))
