import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { count, header, median, table } from './report.mjs'

// npm run bench -- reload: how long decisions wait while 10,000 rules are reloaded, in a thread and without one.

const RULES = 10_000
const MAX_MS = 10
const NAMES = ['exact value', 'wildcard, prefix', 'wildcard, infix', 'address block, IPv4 and IPv6']

const worker = fileURLToPath(new URL('./reload/worker.mjs', import.meta.url))
const execute = promisify(execFile)
const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const ms = (value) => `${value < 0.1 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : count(value)} ms`

async function measure(name, isAway, reloads) {
  const task = JSON.stringify({ name, count: RULES, reloads, isAway })
  const { stdout } = await execute(process.execPath, ['--expose-gc', worker, task])
  return JSON.parse(stdout)
}

const row = (name, what, { reloading, otherwise }) => [
  name,
  what,
  ms(median(reloading.ms)),
  ms(reloading.p50),
  ms(reloading.p99),
  ms(reloading.longest),
  ms(reloading.gc),
  ms(otherwise.longest),
]

const startedAt = Date.now()
say(header('npm run bench -- reload', ['sluice', 'yaml']))
const rows = []
const away = []
for (const name of NAMES) {
  const result = await measure(name, true, 5)
  away.push(result)
  rows.push(row(name, 'in a thread', result), row(name, 'synchronously', await measure(name, false, 2)))
}
const head = ['pattern', 'loaded', 'takes', 'p50', 'p99', 'longest', 'of it GC', 'longest without']
say(
  `reloading ${count(RULES)} rules: from one turn of 20 decisions to the next, while rules are reloaded;`,
  'the longest, what the garbage collector took of it, and the longest while they are not',
  '',
  table(head, rows),
)

const longest = Math.max(...away.map(({ reloading }) => reloading.longest))
const without = Math.max(...away.map(({ otherwise }) => otherwise.longest))
const isMet = longest <= MAX_MS
say(
  `no decision waits more than ${MAX_MS} ms for a reload in a thread: ${isMet ? 'met' : 'missed'}, ${ms(longest)} at most`,
)
if (!isMet && without > MAX_MS)
  say(`but without a reload one waited ${ms(without)}: the machine is busy with something else`)
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
process.exitCode = isMet ? 0 : 1
