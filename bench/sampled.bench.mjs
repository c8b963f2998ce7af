import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { reapAtExit } from '../tests/servers/reaper.mjs'
import { startRedis } from '../tests/servers/redis.mjs'
import { count, header, table } from './report.mjs'

// npm run bench -- sampled [--quick]: nodes as processes on one Redis, counting in each way in turn. Demand jumps from
// half of the limit to three times the limit, of which one node gets half. It prints what was admitted in a second, how
// soon the limit was reached, how the nodes compare and what a decision costs, and fails when sampled counting misses
// what docs/consistency.md promises, unless the machine stalled.

const isQuick = process.argv.includes('--quick')
const LIMIT = 10_000
const NODES = 4
const SLOT_MS = 50
const BELOW_MS = 1_000
const ABOVE_MS = isQuick ? 4_000 : 8_000
/** What a jump of demand takes to be known, and to be made up for. */
const SETTLED_MS = 1_000
const START_MS = 400
/** A process that did not run for this long reported late: then the figure is about the machine. */
const STALL_MS = 60
const KINDS = ['exact', 'leased', 'eventual', 'sampled']
const node = fileURLToPath(new URL('./sampled/node.mjs', import.meta.url))

/** The share of the demand that each node gets. */
const SHARES = [1 / 6, 1 / 6, 1 / 6, 1 / 2]

const phasesOf = (share) => [
  { ms: BELOW_MS, perSecond: 0.5 * LIMIT * share },
  { ms: ABOVE_MS, perSecond: 3 * LIMIT * share },
]

function startNode(task) {
  const child = fork(node, [JSON.stringify(task)])
  reapAtExit(child)
  const message = () =>
    new Promise((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`a node ended with ${code}`)))
    })
  return message().then(() => ({ child, message }))
}

async function redisCpuMs(server) {
  const text = String(await server.call('INFO', 'cpu'))
  return ['user', 'sys'].reduce((sum, kind) => {
    return sum + 1_000 * Number(new RegExp(`used_cpu_${kind}:([0-9.]+)`).exec(text)?.[1])
  }, 0)
}

async function measure(server, kind, limit) {
  await server.call('FLUSHALL')
  const key = `sluice:{0}:bench|${kind}`
  const tasks = SHARES.map((share) => ({ url: server.url, kind, limit, key, phases: phasesOf(share), slotMs: SLOT_MS }))
  const nodes = await Promise.all(tasks.map(startNode))
  const cpuMs = await redisCpuMs(server)
  const reports = nodes.map(({ message }) => message())
  const startAtMs = Date.now() + START_MS
  for (const { child } of nodes) child.send({ startAtMs })
  const results = await Promise.all(reports)
  return resultOf(results, (await redisCpuMs(server)) - cpuMs)
}

const sum = (numbers) => numbers.reduce((all, number) => all + number, 0)
const addUp = (lists) => lists[0].map((_, i) => sum(lists.map((list) => list[i])))

function resultOf(results, redisMs) {
  const admitted = addUp(results.map((result) => result.admitted))
  const decisions = sum(results.map(({ offered }) => sum(offered)))
  const first = BELOW_MS / SLOT_MS
  const settled = (BELOW_MS + SETTLED_MS) / SLOT_MS
  const perWindow = 1_000 / SLOT_MS
  const windows = []
  for (let i = settled; i + perWindow <= admitted.length; i++) windows.push(sum(admitted.slice(i, i + perWindow)))
  const steady = (list) => sum(list.slice(settled))
  const kept = results.map((result) => steady(result.admitted) / steady(result.offered))
  return {
    least: Math.min(...windows) / LIMIT - 1,
    most: Math.max(...windows) / LIMIT - 1,
    reachedMs: reachedAfterMs(admitted.slice(first)),
    kept,
    decisions,
    nodeUs: (1_000 * sum(results.map(({ cpuMs }) => cpuMs))) / decisions,
    redisUs: (1_000 * redisMs) / decisions,
    failures: sum(results.map(({ failures }) => failures)),
    reports: sum(results.map(({ sampledReports }) => sampledReports)),
    stallMs: Math.max(...results.map(({ longestStallMs }) => longestStallMs)),
  }
}

/** Returns how long after the jump of demand no interval of 100 ms admits more than the limit and a fifth any more. */
function reachedAfterMs(admitted) {
  const most = (1.2 * LIMIT * 100) / 1_000
  for (let i = Math.min(admitted.length, SETTLED_MS / SLOT_MS) - 2; i >= 0; i--)
    if (admitted[i] + admitted[i + 1] > most) return (i + 1) * SLOT_MS
  return 0
}

const percent = (share) => `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toFixed(1)} %`

const server = await startRedis()
console.log(header(`npm run bench -- sampled${isQuick ? ' --quick' : ''}`, ['sluice', '@redis/client']))
console.log(
  `\n${NODES} nodes, ${count(LIMIT)} a second; offered half of it for ${BELOW_MS} ms, then three times as much for ` +
    `${ABOVE_MS} ms, half of that to one node\n`,
)
const limit = { limit: LIMIT, window: '1s' }
const results = []
for (const kind of KINDS) results.push([kind, await measure(server, kind, limit)])
await server.stop()
const HEAD = ['', 'fullest s', 'emptiest s', 'reached after', 'kept, least', 'kept, most', 'node', 'Redis', 'stall']
const rows = results.map(([kind, { most, least, reachedMs, kept, nodeUs, redisUs, stallMs }]) => [
  kind,
  percent(most),
  percent(least),
  `${reachedMs} ms`,
  percent(Math.min(...kept)).slice(1),
  percent(Math.max(...kept)).slice(1),
  `${nodeUs.toFixed(2)} µs`,
  `${redisUs.toFixed(2)} µs`,
  `${stallMs.toFixed(0)} ms`,
])
console.log(table(HEAD, rows))
console.log('\nfullest and emptiest: any second from one second after the jump on, against the limit')
console.log('node and Redis: processor time for a decision; a node sleeps and wakes every millisecond, which is in it')
const [, sampled] = results.at(-1)
console.log(`${count(sampled.decisions)} decisions of sampled rules, ${count(sampled.reports)} reports to Redis\n`)
const broken = [
  ...(sampled.most > 0.05 ? [`a second with ${percent(sampled.most)}, promised at most + 5 %`] : []),
  ...(sampled.reachedMs > 200 ? [`the limit was reached after ${sampled.reachedMs} ms, promised 200`] : []),
  ...(sampled.failures > 0 ? [`${sampled.failures} decisions failed`] : []),
]
if (broken.length > 0 && sampled.stallMs < STALL_MS) {
  console.error(`FAILED: ${broken.join('; ')}`)
  process.exitCode = 1
} else if (broken.length > 0) console.log(`VOID: ${broken.join('; ')}; a process did not run for ${sampled.stallMs} ms`)
