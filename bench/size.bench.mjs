import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { COSTS } from '../server/dist/app/sizing/costs.js'
import { startCluster } from '../tests/servers/cluster.mjs'
import { startRedis } from '../tests/servers/redis.mjs'
import { count, header, median, table } from './report.mjs'
import { measureRounds } from './rounds.mjs'

// npm run bench -- size [--quick]: what a call to Redis costs, per call and for each decision in it, which is what
// `sluice size` computes with; and as many decisions on a cluster as this machine makes, with the arithmetic from there
// to 500,000 a second. A round in which a decision failed, was refused or was not counted is void.

const isQuick = process.argv.includes('--quick')
const ROUNDS = isQuick ? 1 : 5
const MEASURE_MS = isQuick ? 300 : 1_500
const CALLERS = 10_000
const GOAL_PER_SECOND = 500_000

/** Nodes with separate connections, and decisions in flight in all: from one decision a call to hundreds. */
const SHAPES = [
  [64, 64],
  [64, 128],
  [16, 64],
  [16, 128],
  [16, 512],
  [4, 128],
  [4, 512],
  [1, 128],
  [1, 512],
]

const worker = fileURLToPath(new URL('./redis/worker.mjs', import.meta.url))
const execute = promisify(execFile)

async function measure({ nodes, inFlight, ...task }) {
  const settings = { task: 'load', contestant: 'sluice', callers: CALLERS, ms: MEASURE_MS, levels: [inFlight], nodes }
  const { stdout } = await execute(process.execPath, [worker, JSON.stringify({ ...task, ...settings })])
  const { levels, voids } = JSON.parse(stdout)
  return { ...levels[inFlight], voids }
}

const nameOf = ({ nodes, inFlight, servers }) =>
  `${servers.length > 1 ? 'cluster, ' : ''}${nodes} nodes, ${inFlight} in flight`
const us = (value) => `${value.toFixed(1)} µs`
const middles = (runs) => {
  const of = (name) => median(runs.map((run) => run[name]))
  return { perSecond: of('perSecond'), redisUs: of('redisUs'), nodeUs: of('nodeUs'), perCall: of('perCall') }
}

/** Finds the line of least squares, relative to each value: what a call costs, and each decision in it. */
function fitted(points) {
  let [a, b, c, d, e] = [0, 0, 0, 0, 0]
  for (const { perCall, redisUs } of points) {
    const weight = 1 / redisUs ** 2
    const share = 1 / perCall
    a += weight * share * share
    b += weight * share
    c += weight
    d += weight * share * redisUs
    e += weight * redisUs
  }
  const callUs = (d * c - b * e) / (a * c - b * b)
  return { callUs, decisionUs: (e - b * callUs) / c }
}

const HEAD = ['', 'per second', 'a call', 'Redis CPU a decision', 'Node.js CPU']
const rowOf = (name, { perSecond, perCall, redisUs, nodeUs }) => [
  name,
  count(perSecond),
  perCall.toFixed(1),
  us(redisUs),
  us(nodeUs),
]

const server = await startRedis()
const cluster = await startCluster({ masters: 3, replicasPerMaster: 0 })
const { urls } = cluster
const clusterUrl = `redis+cluster://${urls.map((each) => new URL(each).host).join()}`
console.log(
  `${header('npm run bench -- size', ['sluice'])}\nredis     ${await server.field('redis_version', 'INFO', 'server')}, on loopback\n`,
)
const one = SHAPES.map(([nodes, inFlight]) => ({ nodes, inFlight, url: server.url, servers: [server.url] }))
const many = [
  [1, 512],
  [2, 1_024],
].map(([nodes, inFlight]) => ({ nodes, inFlight, url: clusterUrl, servers: urls }))
const tasks = [...one, ...many]
const results = (await measureRounds(tasks, ROUNDS, { measure, nameOf })).map(middles)
console.log(
  `${table(
    HEAD,
    tasks.map((task, i) => rowOf(nameOf(task), results[i])),
  )}\n`,
)

const points = results.slice(0, one.length).filter(({ redisUs }) => Number.isFinite(redisUs))
const { callUs, decisionUs } = fitted(points)
const compared = (measured, used) =>
  `measured ${us(measured)}, computed with ${us(used)}: ratio ${(measured / used).toFixed(2)}`
console.log(`a call of Redis: ${compared(callUs, COSTS.redisCallUs)}`)
console.log(`each decision in it: ${compared(decisionUs, COSTS.redisDecisionUs)}\n`)

const best = results.slice(one.length).reduce((a, b) => (b.perSecond > a.perSecond ? b : a))
const cores = (cpuUs) => ((GOAL_PER_SECOND * cpuUs) / 1e6).toFixed(1)
console.log(
  [
    `a cluster of three masters on this machine: ${count(best.perSecond)} decisions a second, all counted,`,
    `at ${us(best.redisUs)} of Redis and ${us(best.nodeUs)} of Node.js each.`,
    `${count(GOAL_PER_SECOND)} a second at that cost: ${cores(best.redisUs)} cores of Redis and ${cores(best.nodeUs)} of Node.js,`,
    'all of them busy; twice that with a half to spare. gRPC and rules come on top: npm run bench -- rls.',
  ].join('\n'),
)
await server.stop()
await cluster.stop()
