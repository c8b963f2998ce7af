import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '../tests/servers/redis.mjs'
import { CALLERS } from './leases/callers.mjs'
import { count, header, median, table } from './report.mjs'

// npm run bench -- leases [--quick] [--per-second N] [--seconds N] [--rounds N] [--kind Zipf|uniform] [--rules 1|2]:
// leased compared with exact, a million callers, one rule and two. Every decision has to be counted by Redis, or
// refused; a run in which one was not is no figure, and ends with an error, as does one in which leased asks Redis more
// often than exact.

const isQuick = process.argv.includes('--quick')
const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}
const PER_SECOND = option('per-second', 10_000)
const MS = 1000 * option('seconds', isQuick ? 5 : 20)
const ROUNDS = option('rounds', isQuick ? 1 : 3)
const RULES = process.argv.includes('--rules') ? [option('rules', 1)] : [1, 2]
const CALLER_KINDS = process.argv.includes('--kind')
  ? [process.argv[process.argv.indexOf('--kind') + 1]]
  : Object.keys(CALLERS)
if (!CALLER_KINDS.every((kind) => kind in CALLERS) || !RULES.every((rules) => rules === 1 || rules === 2)) {
  console.error(`--kind is one of ${Object.keys(CALLERS).join(', ')}, and --rules is 1 or 2`)
  process.exit(2)
}
const TASK = { callers: 1_000_000, perSecond: PER_SECOND, ms: MS, warmUpMs: MS / 4 }
const KINDS = ['exact', 'leased']
const worker = fileURLToPath(new URL('./leases/worker.mjs', import.meta.url))
const execute = promisify(execFile)

async function measure(task) {
  const { stdout } = await execute(process.execPath, ['--expose-gc', worker, JSON.stringify(task)])
  return JSON.parse(stdout)
}

/** Says what is wrong with a run, if anything is. */
function faultsOf({ failures, wrong, over, stillLent }) {
  const faults = Object.entries(failures).map(([reason, times]) => `${times} decisions failed: ${reason}`)
  if (wrong > 0) faults.push(`${wrong} counters in Redis have not what was admitted`)
  if (over > 0) faults.push(`${over} callers passed their limit`)
  if (stillLent > 0) faults.push(`${stillLent} counters are still lent after the drain`)
  return faults
}

const fixed = (digits) => (value) => value.toFixed(digits)
const COLUMNS = [
  ['asked', 'trips', fixed(3)],
  ['exchanges', 'exchanges', fixed(3)],
  ['calls', 'calls', fixed(3)],
  ['node µs', 'nodeUs', fixed(1)],
  ['Redis µs', 'redisUs', fixed(1)],
  ['p50 ms', 'p50', fixed(2)],
  ['p99 ms', 'p99', fixed(2)],
  ['refused', 'refused', (share) => `${(100 * share).toFixed(1)} %`],
  ['slices', 'slices', count],
  ['heap MB', 'heapMb', fixed(0)],
  ['RSS MB', 'rssMb', fixed(0)],
]

const server = await startRedis()
const name = `npm run bench -- leases${isQuick ? ' --quick' : ''}`
console.log(`${header(name, ['sluice', '@redis/client'])}\n`)
console.log(
  `${count(TASK.callers)} callers, ${count(PER_SECOND)} a second on a schedule, ${MS / 1000} s, ${ROUNDS} rounds`,
)
console.log('asked, exchanges, calls and µs are for a decision; medians\n')
const results = new Map()
const faults = []
for (let round = 0; round < ROUNDS; round++) {
  for (const rules of RULES) {
    for (const kind of CALLER_KINDS) {
      for (const consistency of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
        const key = `${kind}, ${rules === 1 ? 'one rule' : 'two rules'}, ${consistency}`
        const run = await measure({ ...TASK, url: server.url, consistency, rules, kind })
        faults.push(...faultsOf(run).map((fault) => `${key}: ${fault}`))
        results.set(key, [...(results.get(key) ?? []), run])
      }
    }
  }
}
const middle = (key, field) => median(results.get(key).map((run) => run[field]))
const rows = [...results.keys()].map((key) => [key, ...COLUMNS.map(([, field, format]) => format(middle(key, field)))])
console.log(`${table(['', ...COLUMNS.map(([head]) => head)], rows)}\n`)
for (const key of results.keys()) {
  if (!key.endsWith('leased')) continue
  const exact = key.replace('leased', 'exact')
  const ratio = (field) => middle(key, field) / middle(exact, field)
  const cpu = (one) => middle(one, 'nodeUs') + middle(one, 'redisUs')
  const asked = ratio('trips')
  console.log(
    `leased / exact, ${key.replace(', leased', '')}: asked ${asked.toFixed(2)}, CPU ${(cpu(key) / cpu(exact)).toFixed(2)}`,
  )
  if (asked > 1.001) faults.push(`${key}: Redis was asked more often than by exact rules`)
}
console.log(faults.length === 0 ? '\nevery decision was counted or refused' : `\n${faults.join('\n')}`)
await server.stop()
process.exitCode = faults.length === 0 ? 0 : 1
