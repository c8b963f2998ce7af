import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { compileObjects } from '../../dist/core/rules/compile.js'
import { Limiter } from '../../dist/engine/limiter.js'
import { MemoryStore } from '../../dist/stores/memory/memory-store.js'
import { QuotaFeed } from '../../server/dist/app/workers/quota-feed.js'
import { WorkerQuotas } from '../../server/dist/app/workers/worker-quotas.js'
import { LiveQuotas } from '../../server/dist/quotas/book/live-quotas.js'
import { hashApiKey } from '../../server/dist/quotas/tables/api-key-hash.js'
import { keyOf, snapshotOf } from './records.mjs'

// node --expose-gc worker.mjs '{"task": …}' prints one JSON object, or sends it. One process measures one thing.

/** Holds the last answer, so that no compiler may leave the work out. */
let kept

/** The time of the processor since another look. Other processes do not count in it. */
function cpuMs(since) {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}

const hash = (key) => hashApiKey('a secret', key)
const limit = (name, requests_per_unit) => ({ name, unit: 'minute', requests_per_unit })
const RULES = compileObjects([
  {
    domain: 'api',
    tiers: { free: { rate_limit: limit('free', 1_000_000) }, pro: { rate_limit: limit('pro', 2_000_000) } },
    descriptors: [
      {
        key: 'api_key',
        secret: true,
        tiered: true,
        rate_limit: limit('own', 3_000_000),
        descriptors: [{ key: 'endpoint', rate_limit: limit('endpoint', 3_000_000) }],
      },
    ],
  },
])

const tasks = { building, decisions, changes, sending, receiving }
const { task, ...options } = JSON.parse(process.argv[2])
const result = await tasks[task](options)
if (result !== undefined) process.stdout.write(JSON.stringify(result))

/** What is held after everything else is gone. */
function memoryMb() {
  for (let i = 0; i < 3; i++) gc()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1e6
}

/** Measures how long a book of a snapshot takes, what it weighs, and how long it stops decisions at a time. */
async function building({ customers }) {
  let snapshot = snapshotOf(customers, hash)
  // Cloned, as it comes from a database or another process: no text is shared between records.
  snapshot = structuredClone(snapshot)
  const before = memoryMb()
  const live = new LiveQuotas({ hash })
  const stall = monitorEventLoopDelay({ resolution: 1 })
  stall.enable()
  const startedAt = performance.now()
  const cpu = process.cpuUsage()
  await live.load(snapshot)
  const ms = performance.now() - startedAt
  const busyMs = cpuMs(cpu)
  stall.disable()
  const snapshotAndBook = memoryMb()
  snapshot = undefined
  const after = memoryMb()
  const counts = live.current().counts
  return { ms, busyMs, stallMs: stall.max / 1e6, bookMb: after - (before - (snapshotAndBook - after)), counts }
}

/** Measures what quotas add to a decision: rounds of several settings take turns. */
async function decisions({ customers, perRound, rounds }) {
  const live = new LiveQuotas({ hash })
  await live.load(snapshotOf(customers, hash))
  const blocked = new LiveQuotas({ hash })
  const block = { id: 'b', reason: undefined, status: 403, body: undefined, effectiveAtMs: 0, expiresAtMs: undefined }
  const some = { ...snapshotOf(customers, hash) }
  some.blocks = Array.from({ length: 1_000 }, (_, i) => ({
    ...block,
    id: `b${i}`,
    subject: { kind: 'cidr', cidr: `10.${i >> 8}.${i & 255}.0/24` },
    version: 1,
    createdAtMs: 0,
  }))
  await blocked.load(some)
  const empty = new LiveQuotas({ hash })
  const settings = {
    'without quotas': {},
    'none in them': { quotas: empty.current },
    [`${customers} customers`]: { quotas: live.current },
    'and 1,000 blocks': { quotas: blocked.current },
  }
  const limiters = Object.entries(settings).map(([name, parts]) => {
    return { name, limiter: new Limiter(() => RULES, new MemoryStore({ maxKeys: 200_000 }), parts), ns: {} }
  })
  const traffic = { hot: 100, spread: customers }
  for (const [kind, callers] of Object.entries(traffic)) {
    const requests = Array.from({ length: callers }, (_, i) => requestOf((i * 7_919) % callers))
    for (const each of limiters) run(each.limiter, requests, 0, Math.max(perRound, 2 * callers))
    for (let round = 0; round < rounds; round++) {
      for (let turn = 0; turn < limiters.length; turn++) {
        const each = limiters[(turn + round) % limiters.length]
        gc()
        const cpu = process.cpuUsage()
        run(each.limiter, requests, round * perRound, perRound)
        each.ns[kind] = [...(each.ns[kind] ?? []), (cpuMs(cpu) * 1e6) / perRound]
      }
    }
  }
  return limiters.map(({ name, ns }) => ({ name, ns }))
}

function requestOf(i) {
  return { domain: 'api', descriptors: [{ entries: [{ key: 'api_key', value: keyOf(i) }] }] }
}

function run(limiter, requests, from, count) {
  for (let i = 0; i < count; i++) kept = limiter.check(requests[(from + i) % requests.length])
  return kept
}

/** Measures how long one change takes to be in force in a process. */
async function changes({ customers, count }) {
  const live = new LiveQuotas({ hash })
  const snapshot = snapshotOf(customers, hash)
  await live.load(snapshot)
  const { overrides, customers: all } = snapshot
  const timed = (make) => {
    const cpu = process.cpuUsage()
    for (let i = 0; i < count; i++) live.apply([make(i)])
    return (cpuMs(cpu) * 1e6) / count
  }
  let revision = 1
  return {
    override: timed((i) => {
      const record = { ...overrides[i], requestsPerUnit: 5 }
      return { table: 'overrides', id: record.id, record, revision: ++revision }
    }),
    customer: timed((i) => {
      const record = { ...all[i], tier: 'pro' }
      return { table: 'customers', id: record.id, record, revision: ++revision }
    }),
  }
}

/** Forks a worker that takes everything in parts, and measures both sides. */
async function sending({ customers }) {
  const { fork } = await import('node:child_process')
  const { fileURLToPath } = await import('node:url')
  const snapshot = snapshotOf(customers, hash)
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify({ task: 'receiving' })], {
    serialization: 'advanced',
    execArgv: ['--expose-gc'],
  })
  const feed = new QuotaFeed((news) => child.send(news))
  const stall = monitorEventLoopDelay({ resolution: 1 })
  const done = new Promise((resolve) => {
    child.on('message', (message) => {
      if (message.at !== undefined) child.send(feed.answer(message.version, message.at))
      else resolve(message)
    })
  })
  stall.enable()
  const startedAt = performance.now()
  const cpu = process.cpuUsage()
  await feed.load(snapshot)
  const worker = await done
  stall.disable()
  const ms = performance.now() - startedAt
  child.disconnect()
  return { ms, busyMs: cpuMs(cpu), stallMs: stall.max / 1e6, worker }
}

async function receiving() {
  const stall = monitorEventLoopDelay({ resolution: 1 })
  const quotas = new WorkerQuotas({ hash }, (version, at) => process.send({ version, at }))
  process.on('message', (news) => {
    stall.enable()
    quotas.hear(news)
  })
  await quotas.arrived
  stall.disable()
  process.send({ stallMs: stall.max / 1e6, busyMs: cpuMs() })
}
