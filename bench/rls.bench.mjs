import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '../tests/servers/redis.mjs'
import { arePinned, pinClient } from './grpc/cores.mjs'
import { count, header, median, ratioLine, spread, table } from './report.mjs'
import { CALLERS, rulesOf } from './rls/traffic.mjs'

// npm run bench -- rls [--quick]: whole decisions over gRPC by `sluice serve`, against a bare grpc-js server that decides
// nothing and answers every call with the same two bytes.

const BARE = 'grpc-js, no decision'
const IN_FLIGHT = 256
const MEMORY_BUDGET = 5
const REDIS_BUDGET = 3
const P99_MEMORY_MS = 1
const P99_REDIS_MS = 5

const isQuick = process.argv.includes('--quick')
const { rounds, ms, latencyMs } = isQuick
  ? { rounds: 1, ms: 800, latencyMs: 800 }
  : { rounds: 3, ms: 2_500, latencyMs: 3_000 }

const worker = fileURLToPath(new URL('./rls/worker.mjs', import.meta.url))
const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const us = (value) => `${value.toFixed(2)} µs`
const milliseconds = (value) => `${value.toFixed(2)} ms`
const percent = (value) => `${(100 * value).toFixed(0)} %`
const verdict = (isMet) => (isMet ? 'met' : 'missed')

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const rules = Object.fromEntries(
  ['exact', 'leased'].map((consistency) => {
    const path = join(dir, `${consistency}.yaml`)
    writeFileSync(path, rulesOf(consistency))
    return [consistency, path]
  }),
)
const redis = await startRedis()
pinClient(redis.pid)

const memory = { rules: rules.exact, workers: 1 }
const shared = (consistency, workers) => ({ rules: rules[consistency], redis: redis.url, workers })
const CASES = [
  { name: BARE, descriptors: 1 },
  { name: 'memory', descriptors: 1, service: memory, budget: MEMORY_BUDGET, p99: P99_MEMORY_MS },
  { name: 'memory', descriptors: 2, service: memory, p99: P99_MEMORY_MS },
  { name: 'Redis, exact', descriptors: 1, service: shared('exact', 1), budget: REDIS_BUDGET, p99: P99_REDIS_MS },
  { name: 'Redis, exact', descriptors: 2, service: shared('exact', 1), p99: P99_REDIS_MS },
  { name: 'Redis, leased', descriptors: 1, service: shared('leased', 1), budget: REDIS_BUDGET, p99: P99_REDIS_MS },
  { name: 'Redis, exact, 2 workers', descriptors: 1, service: shared('exact', 2), p99: P99_REDIS_MS },
  { name: 'Redis, leased, 2 workers', descriptors: 1, service: shared('leased', 2), p99: P99_REDIS_MS },
]

async function measure({ service, descriptors }) {
  const task = { service, descriptors, inFlight: IN_FLIGHT, ms, latencyMs }
  const { stdout } = await promisify(execFile)(process.execPath, [worker, JSON.stringify(task)])
  return JSON.parse(stdout)
}

/** measureAll gives every case its turn before one gets its next, so that a noisy moment of the machine hits all alike. */
async function measureAll() {
  const runs = CASES.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < CASES.length; i++) {
      const turn = (i + round) % CASES.length
      runs[turn].push(await measure(CASES[turn]))
    }
  }
  return runs
}

function report(runs) {
  const middle = (i, field) => median(runs[i].map((run) => run[field]))
  const rates = runs.map((all) => all.map(({ perSecond }) => perSecond))
  const rows = CASES.map(({ name, descriptors }, i) => [
    name,
    descriptors,
    count(median(rates[i])),
    `± ${spread(rates[i]).toFixed(0)} %`,
    us(middle(i, 'cpuUs')),
    percent(middle(i, 'serverBusy')),
    percent(middle(i, 'clientBusy')),
  ])
  const head = ['', 'descriptors', 'per second', 'spread', 'CPU per call', 'server busy', 'client busy']
  say(`Answers, ${IN_FLIGHT} in flight on 4 connections, ${count(CALLERS)} callers`, '', table(head, rows))
  const late = (i, field) => median(runs[i].map(({ latency }) => latency[field]))
  const times = CASES.map(({ name, descriptors }, i) => [
    name,
    descriptors,
    count(late(i, 'perSecond')),
    milliseconds(late(i, 'p50')),
    milliseconds(late(i, 'p99')),
  ])
  const title = 'Time of an answer at half of its own rate (arrivals on a fixed schedule)'
  say(title, '', table(['', 'descriptors', 'per second', '50 %', '99 %'], times))
  const failures = CASES.map(({ name }, i) => `${name} ${runs[i].reduce((sum, run) => sum + run.failures, 0)}`)
  say(`calls that failed, or whose code was not OK: ${failures.join(', ')}`)
  const lines = CASES.slice(1).map(({ name, descriptors, budget }, i) => {
    const label = `answers per second, ${name}, ${descriptors} descriptor${descriptors === 1 ? '' : 's'} / ${BARE}`
    return ratioLine(label, median(rates[i + 1]) / median(rates[0]), budget)
  })
  const cpu = CASES.slice(1).map(({ name, descriptors }, i) => {
    const label = `CPU per call, ${BARE} / ${name}, ${descriptors} descriptor${descriptors === 1 ? '' : 's'}`
    return ratioLine(label, middle(0, 'cpuUs') / middle(i + 1, 'cpuUs'))
  })
  const budgets = CASES.flatMap(({ name, descriptors, p99 }, i) => {
    if (p99 === undefined) return []
    const value = late(i, 'p99')
    const label = `budget p99 at half load, ${name}, ${descriptors}`
    return [`${label}, ${milliseconds(value)} (< ${p99} ms): ${verdict(value < p99)}`]
  })
  say(...lines, ...cpu, ...budgets)
}

const startedAt = Date.now()
say(
  header(`npm run bench -- rls${isQuick ? ' --quick' : ''}`, ['sluice', '@grpc/grpc-js', '@redis/client']),
  `redis     ${await redis.field('redis_version', 'INFO', 'server')}, on loopback`,
  arePinned
    ? 'cores     a server of one process has a core of its own; client and Redis share another. Two workers share both'
    : 'cores     shared: there is no taskset, or only one core. "CPU per call" is what counts then',
)
report(await measureAll())
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
await redis.stop()
rmSync(dir, { recursive: true })
