import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { measureFleet } from './quotas/fleet.mjs'
import { count, header, median, spread, table } from './report.mjs'

// npm run bench -- quotas: what 100,000 customers with a key and an override each cost: to start, to hold, to decide
// by, to change, to send to a worker, and on two nodes with PostgreSQL and Redis.

const CUSTOMERS = 100_000
const MAX_START_MS = 2_000
const MAX_MB = 100

const worker = fileURLToPath(new URL('./quotas/worker.mjs', import.meta.url))
const execute = promisify(execFile)

async function measure(task) {
  const { stdout } = await execute(process.execPath, ['--expose-gc', worker, JSON.stringify(task)])
  return JSON.parse(stdout)
}

const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const goal = (isMet) => (isMet ? 'met' : 'missed')

say(header('npm run bench -- quotas', ['sluice']))

const built = []
for (let i = 0; i < 3; i++) built.push(await measure({ task: 'building', customers: CUSTOMERS }))
const of = (list, name) => median(list.map((each) => each[name]))
const ms = of(built, 'busyMs')
const mb = median(built.map((each) => each.bookMb))
say(
  `${count(CUSTOMERS)} customers, keys and overrides, made into a book between decisions (median of 3)`,
  '',
  `start   ${count(ms)} ms of the processor (goal < ${count(MAX_START_MS)}: ${goal(ms < MAX_START_MS)}), ${count(of(built, 'ms'))} ms in all`,
  `memory  ${count(mb)} MB (goal < ${MAX_MB}: ${goal(mb < MAX_MB)})`,
  `stall   ${of(built, 'stallMs').toFixed(1)} ms at the longest`,
)

const sent = []
for (let i = 0; i < 3; i++) sent.push(await measure({ task: 'sending', customers: CUSTOMERS }))
const workers = sent.map(({ worker: each }) => each)
say(
  'the same, sent to a worker in parts (median of 3)',
  '',
  `in force  ${count(of(sent, 'ms'))} ms after it was known`,
  `busy      primary ${count(of(sent, 'busyMs'))} ms, worker ${count(of(workers, 'busyMs'))} ms of the processor`,
  `stall     primary ${of(sent, 'stallMs').toFixed(1)} ms, worker ${of(workers, 'stallMs').toFixed(1)} ms at the longest`,
)

const settings = await measure({ task: 'decisions', customers: CUSTOMERS, perRound: 200_000, rounds: 9 })
const base = settings[0].ns
const rows = settings.map(({ name, ns }) => [
  name,
  ...['hot', 'spread'].flatMap((kind) => {
    const added = median(ns[kind]) - median(base[kind])
    return [`${count(median(ns[kind]))} ns`, `${added >= 0 ? '+' : '−'}${count(Math.abs(added))}`]
  }),
  `${spread(ns.spread).toFixed(0)} %`,
])
say(
  'CPU time of a decision in memory; hot: 100 callers, spread: all of them in turn',
  '',
  table(['quotas', 'hot', 'added', 'spread', 'added', '±'], rows),
)

const changed = await measure({ task: 'changes', customers: CUSTOMERS, count: 20_000 })
say(
  'time of a change in a process',
  '',
  ...Object.entries(changed).map(([name, ns]) => `${name.padEnd(9)} ${(ns / 1_000).toFixed(1)} µs`),
)

const fleet = await measureFleet(CUSTOMERS, 20)
const rowOf = (name) =>
  [fleet.idle, fleet.busy].flatMap((kinds) =>
    [median(kinds[name]), Math.max(...kinds[name])].map((each) => count(each)),
  )
const longest = Math.max(...[fleet.idle, fleet.busy].flatMap((kinds) => Object.values(kinds).flat()))
say(
  `two nodes with two workers each, PostgreSQL and Redis, ${count(CUSTOMERS)} customers`,
  '',
  `start     ${fleet.startMs.map((each) => count(each)).join(' and ')} ms until a node decides by its customers`,
  `memory    ${fleet.memoryMb.map((each) => count(each)).join(', ')} MB (a primary and its workers, node by node)`,
  '',
  'ms from the answer to a change until it is in force on every worker of both nodes, of 20 each',
  '',
  table(
    ['change', 'median', 'longest', `at ${count(fleet.perSecond)} requests/s`, 'longest'],
    Object.keys(fleet.idle).map((name) => [name, ...rowOf(name)]),
  ),
  '',
  `every change within 2,000 ms: ${goal(longest < 2_000)}, ${count(longest)} ms at the longest`,
)
