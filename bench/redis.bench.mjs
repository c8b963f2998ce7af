import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startCluster } from '../tests/servers/cluster.mjs'
import { startRedis } from '../tests/servers/redis.mjs'
import { WINDOW_MS } from './redis/callers.mjs'
import { count, header, median, ratioLine, spread, table } from './report.mjs'
import { measureRounds } from './rounds.mjs'

// npm run bench -- redis [--quick] [--bytes]: decisions through Redis, against one script call for each decision and a
// peer. A round in which a decision failed, was refused or was not counted is void.

const OURS = 'sluice'
const PLAIN = 'one EVALSHA each'
const PEER = 'rate-limiter-flexible'
const LEVELS = [1, 32, 128, 512]
const CLUSTER_LEVELS = [128, 512]
const BUSY = 128
const isQuick = process.argv.includes('--quick')
const isBytes = process.argv.includes('--bytes')
const ROUNDS = isQuick ? 1 : 3
const CALLERS = 10_000
const MANY_CALLERS = 100_000
const MEASURE_MS = isQuick ? 300 : 1_200
const LATENCY_MS = isQuick ? 500 : 1_500

const CPU_BUDGET_US = 4
const BYTES_BUDGET = 160
const COMPACT_GOAL = 130
const COMPACT_TOO = ['fixed_window', 'gcra', 'token_bucket']
/** A bucket that is refilled immediately would be gone before it is looked at. */
const FEW = 2
const P99_BUDGET_MS = 5

const worker = fileURLToPath(new URL('./redis/worker.mjs', import.meta.url))
const execute = promisify(execFile)

async function measure(task) {
  const { stdout } = await execute(process.execPath, [worker, JSON.stringify(task)])
  return JSON.parse(stdout)
}

const nameOf = ({ contestant, algorithm = 'sliding_window', servers }) =>
  `${contestant}, ${algorithm}${servers.length > 1 ? ', cluster' : ''}`
const measureAll = (tasks) => measureRounds(tasks, ROUNDS, { measure, nameOf })

const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const us = (value) => `${value.toFixed(2)} µs`
const ms = (value) => `${value.toFixed(2)} ms`
const verdict = (isMet) => (isMet ? 'met' : 'missed')

/** Returns what the rounds of a contestant measured at a number in flight. */
const at = (runs, level, name) => runs.map(({ levels }) => levels[level][name])

function loadRow(name, runs, level) {
  const rates = at(runs, level, 'perSecond')
  const middle = (field) => median(at(runs, level, field))
  return [
    name,
    level,
    count(median(rates)),
    `± ${spread(rates).toFixed(0)} %`,
    us(middle('redisUs')),
    `± ${spread(at(runs, level, 'redisUs')).toFixed(0)} %`,
    us(middle('nodeUs')),
    middle('perCall').toFixed(1),
  ]
}

const LOAD_HEAD = ['', 'in flight', 'per second', 'spread', 'Redis CPU', 'spread', 'Node CPU', 'per call']

// --- one server ---

async function reportServer(server) {
  const task = { task: 'load', url: server.url, servers: [server.url], callers: CALLERS, ms: MEASURE_MS }
  const names = [OURS, PLAIN, PEER]
  const algorithms = ['token_bucket', 'gcra', 'fixed_window', 'sliding_log']
  const results = await measureAll([
    ...names.map((contestant) => ({ ...task, contestant, levels: LEVELS, halfOf: BUSY, latencyMs: LATENCY_MS })),
    ...algorithms.map((algorithm) => ({ ...task, contestant: OURS, algorithm, levels: [BUSY] })),
  ])
  const rows = names.flatMap((name, i) => LEVELS.map((level) => loadRow(name, results[i], level)))
  say('One server: decisions, all allowed', '', table(LOAD_HEAD, rows))
  reportLatency(names, results)
  const ofAlgorithms = algorithms.map((name, i) => loadRow(name, results[names.length + i], BUSY))
  const ours = loadRow('sliding_window', results[0], BUSY)
  say('One server: Sluice by algorithm', '', table(LOAD_HEAD, [ours, ...ofAlgorithms]))
  reportRatios(names, results)
}

function reportLatency(names, results) {
  const rows = names.map((name, i) => {
    const middle = (field) => median(results[i].map(({ latency }) => latency[field]))
    const all = (field) => results[i].map(({ latency }) => latency[field])
    const range = `${ms(Math.min(...all('p99')))} to ${ms(Math.max(...all('p99')))}`
    return [name, count(middle('perSecond')), ms(middle('p50')), ms(middle('p99')), range, middle('perCall').toFixed(1)]
  })
  const title = `Time of a decision at half of its maximum rate with ${BUSY} in flight (arrivals on a fixed schedule)`
  say(title, '', table(['', 'per second', '50 %', '99 %', '99 %, rounds', 'per call'], rows))
}

function reportRatios(names, results) {
  const lines = names.slice(1).flatMap((name, i) =>
    LEVELS.flatMap((level) => {
      const ratio = (field, ours, theirs) => median(at(ours, level, field)) / median(at(theirs, level, field))
      const [ours, theirs] = [results[0], results[i + 1]]
      return [
        ratioLine(`decisions per second, ${OURS} / ${name}, ${level} in flight`, ratio('perSecond', ours, theirs)),
        ratioLine(`Redis CPU for a decision, ${name} / ${OURS}, ${level} in flight`, ratio('redisUs', theirs, ours)),
      ]
    }),
  )
  const cpu = median(at(results[0], BUSY, 'redisUs'))
  const p99 = median(results[0].map(({ latency }) => latency.p99))
  say(
    ...lines,
    `budget Redis CPU for a decision, ${BUSY} in flight, ${us(cpu)} (≤ ${CPU_BUDGET_US} µs): ${verdict(cpu <= CPU_BUDGET_US)}`,
    `budget p99 of a decision at half load, ${ms(p99)} (< ${P99_BUDGET_MS} ms): ${verdict(p99 < P99_BUDGET_MS)}`,
  )
}

// --- memory ---

async function reportBytes(server) {
  const task = { task: 'bytes', url: server.url, servers: [server.url], callers: MANY_CALLERS }
  const cases = [
    [`${OURS}, the key a secret`, { contestant: OURS, secret: true }],
    [`${OURS}, the key in full`, { contestant: OURS, secret: false }],
    [`${OURS}, compact`, { contestant: OURS, secret: true, compact: true }],
    ...COMPACT_TOO.map((algorithm) => [
      `${OURS}, compact, ${algorithm}`,
      { contestant: OURS, compact: true, algorithm, requests: FEW },
    ]),
    [`${PLAIN}, two windows`, { contestant: PLAIN, nextWindowMs: WINDOW_MS }],
    [PEER, { contestant: PEER }],
  ]
  const results = []
  for (const [, settings] of cases) results.push(await measure({ ...task, ...settings }))
  const rows = results.map(({ usage, used, stored, key }, i) => [
    cases[i][0],
    usage,
    used.toFixed(1),
    (stored / MANY_CALLERS).toFixed(0),
    `\`${key}\``,
  ])
  const head = ['', 'MEMORY USAGE', 'used_memory', 'keys', 'a key']
  say(`Bytes for a caller and rule: ${count(MANY_CALLERS)} callers`, '', table(head, rows))
  const line = (what, value) =>
    `budget bytes for a caller and rule, ${what}, ${value.toFixed(0)} (≤ ${BYTES_BUDGET}): ${verdict(value <= BYTES_BUDGET)}`
  const [secret, full, compact] = results
  say(
    line('MEMORY USAGE, the key a secret', secret.usage),
    line('MEMORY USAGE, the key in full', full.usage),
    line('used_memory, the key a secret', secret.used),
    line('used_memory, the key in full', full.used),
    `goal used_memory, compact keys, ${compact.used.toFixed(0)} (≤ ${COMPACT_GOAL}): ${verdict(compact.used <= COMPACT_GOAL)}`,
  )
}

// --- a cluster ---

async function reportCluster(cluster) {
  const servers = cluster.urls
  const url = `redis+cluster://${servers.map((each) => new URL(each).host).join()}`
  const task = {
    task: 'load',
    contestant: OURS,
    url,
    servers,
    callers: CALLERS,
    ms: MEASURE_MS,
    levels: CLUSTER_LEVELS,
  }
  const [runs] = await measureAll([task])
  const rows = CLUSTER_LEVELS.map((level) => loadRow(OURS, runs, level))
  const title = 'Cluster of 3 masters, 32 partitions (Redis CPU: the sum of all masters)'
  say(title, '', table(LOAD_HEAD, rows))
}

const startedAt = Date.now()
const server = await startRedis()
say(
  header(`npm run bench -- redis${isQuick ? ' --quick' : ''}${isBytes ? ' --bytes' : ''}`, [
    'sluice',
    '@redis/client',
    PEER,
  ]),
  `redis     ${await server.field('redis_version', 'INFO', 'server')}, on loopback; clients and servers share the cores of the machine`,
)
if (!isBytes) await reportServer(server)
await reportBytes(server)
await server.stop()
if (!isBytes) {
  const cluster = await startCluster({ masters: 3, replicasPerMaster: 0 })
  await reportCluster(cluster)
  await cluster.stop()
}
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
