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
import { measureRounds } from './rounds.mjs'

// npm run bench -- rls [--quick]: whole decisions over gRPC by `sluice serve`, against a bare grpc-js server that
// decides nothing and answers every call with the same two bytes. A round in which a decision was made without Redis,
// or was not counted there, is void.

const BARE = 'grpc-js, no decision'
const IN_FLIGHT = 256
const MEMORY_BUDGET = 5
const REDIS_BUDGET = 3
const P99_MEMORY_MS = 1
const P99_REDIS_MS = 5
/** Where a limit is to be reached: of 20,000 calls a second 2,000 fit, so 90 % are to be refused. */
const REACHED = { callers: 200, limit: 10, perSecond: 20_000 }
const REACHED_MS = 3_000
const REACHED_LIMIT = { unit: 'second', requests_per_unit: REACHED.limit }

const isQuick = process.argv.includes('--quick')
const { rounds, ms, latencyMs } = isQuick
  ? { rounds: 1, ms: 800, latencyMs: 800 }
  : { rounds: 3, ms: 2_500, latencyMs: 3_000 }

const worker = fileURLToPath(new URL('./rls/worker.mjs', import.meta.url))
const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const us = (value) => `${value.toFixed(2)} µs`
const milliseconds = (value) => `${value.toFixed(2)} ms`
const percent = (value) => `${(100 * value).toFixed(0)} %`
const percent1 = (value) => `${(100 * value).toFixed(1)} %`
const verdict = (isMet) => (isMet ? 'met' : 'missed')

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const rules = Object.fromEntries(
  ['exact', 'leased'].flatMap((consistency) =>
    Object.entries({ [consistency]: undefined, [`${consistency}-reached`]: REACHED_LIMIT }).map(([name, limit]) => {
      const path = join(dir, `${name}.yaml`)
      writeFileSync(path, rulesOf(consistency, limit))
      return [name, path]
    }),
  ),
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
  ...['exact', 'leased'].map((consistency) => ({
    name: `Redis, ${consistency}, limit reached`,
    descriptors: 1,
    service: shared(`${consistency}-reached`, 1),
    reached: REACHED,
  })),
]
const nameOf = ({ name, descriptors }) => `${name}, ${descriptors} descriptor${descriptors === 1 ? '' : 's'}`

async function measure({ service, descriptors, reached }) {
  const lasting = reached === undefined ? { ms, latencyMs } : { ms: REACHED_MS, latencyMs: REACHED_MS }
  const task = { service, descriptors, reached, inFlight: IN_FLIGHT, ...lasting }
  const { stdout } = await promisify(execFile)(process.execPath, [worker, JSON.stringify(task)])
  return JSON.parse(stdout)
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
    milliseconds(late(i, 'lateP99')),
  ])
  const title =
    'Time of an answer at half of its maximum rate (arrivals on a fixed schedule; client late: 99 % of its calls)'
  say(title, '', table(['', 'descriptors', 'per second', '50 %', '99 %', 'client late'], times))
  reportRefusals(runs)
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

function reportRefusals(runs) {
  const rows = CASES.flatMap(({ name, reached }, i) => {
    if (reached === undefined) return []
    const share = (of, field) => percent1(median(runs[i].map((run) => of(run).refusals[field])))
    const phases = { '256 in flight': (run) => run, 'on a schedule': ({ latency }) => latency }
    return Object.entries(phases).map(([phase, of]) => [name, phase, share(of, 'refused'), share(of, 'due')])
  })
  const { callers, limit, perSecond } = REACHED
  const title = `A limit that is reached: ${callers} callers, ${limit} a second each; the schedule has ${count(perSecond)} calls a second`
  say(title, '', table(['', '', 'refused', 'due'], rows))
}

const startedAt = Date.now()
say(
  header(`npm run bench -- rls${isQuick ? ' --quick' : ''}`, ['sluice', '@grpc/grpc-js', '@redis/client']),
  `redis     ${await redis.field('redis_version', 'INFO', 'server')}, on loopback`,
  arePinned
    ? 'cores     a server of one process has a core to itself; client and Redis share another. Two workers share both'
    : 'cores     shared: there is no taskset, or only one core. "CPU per call" is what counts then',
)
report(await measureRounds(CASES, rounds, { measure, nameOf }))
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
await redis.stop()
rmSync(dir, { recursive: true })
