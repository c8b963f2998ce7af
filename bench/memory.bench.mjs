import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { count, header, median, million, ratioLine, spread, table } from './report.mjs'

// npm run bench -- memory [--held]: decisions in memory, against the two most used limiters of Node.js.

const { held } = parseArgs({ options: { held: { type: 'boolean', default: false } } }).values
const PEER = 'rate-limiter-flexible'
const STORE = 'express-rate-limit'
const MILLION = 1_000_000
const REPETITIONS = 3
const workloads = { half: 'half refused', all: 'all allowed' }

const budgets = { 10000: 8, [MILLION]: 4 }
const BYTES_BUDGET = 48

const worker = fileURLToPath(new URL('./memory/worker.mjs', import.meta.url))
const execute = promisify(execFile)

async function measure(task) {
  const { stdout } = await execute(process.execPath, ['--expose-gc', worker, JSON.stringify(task)])
  return JSON.parse(stdout)
}

/**
 * Runs every task several times, each in a separate process, and returns the results of each. All tasks get their turn
 * before one gets its next, in turning order, so that a noisy moment of the machine hits all alike.
 */
async function measureAll(tasks, repetitions = REPETITIONS) {
  const results = tasks.map(() => [])
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (let i = 0; i < tasks.length; i++) {
      const turn = (i + repetition) % tasks.length
      results[turn].push(await measure(tasks[turn]))
    }
  }
  return results
}

const say = (...lines) => console.log(`${lines.join('\n')}\n`)

// --- decisions per second ---

async function reportDecisions(keys, workload) {
  const names = workload === 'all' ? ['sluice', PEER, STORE] : ['sluice', PEER]
  const rounds = keys === MILLION ? 2 : 3
  const task = { task: 'decisions', keys, perRound: 500_000, rounds, workload, held }
  const results = await measureAll(names.map((contestant) => ({ ...task, contestant })))
  results.forEach((runs, i) => {
    for (const run of runs) checkShare(names[i], workload, run.refusedShare)
  })
  const rates = results.map((runs) => runs.flatMap((run) => run.perSecond))
  const coldRates = results.map((runs) => runs.map((run) => run.coldPerSecond))
  const title = `${count(keys)} ${keys === 1 ? 'key' : 'keys'}, ${workloads[workload]}`
  say(`Decisions per second: ${title}`, '', rateTable(names, rates))
  say(...ratioLines(title, names, rates, budgets[keys]))
  if (keys !== MILLION || workload !== 'all') return
  const coldTitle = `${count(keys)} keys, first decision of each`
  say(`Decisions per second: ${coldTitle}`, '', rateTable(names, coldRates))
  say(...ratioLines(coldTitle, names, coldRates))
}

/** Makes sure that the workload was what it is called. */
function checkShare(name, workload, share) {
  const expected = workload === 'half' ? 0.5 : 0
  if (Math.abs(share - expected) > 0.005) throw new Error(`${name} refused ${share} of "${workloads[workload]}"`)
}

function rateTable(names, rates) {
  const row = (name, i) => [
    name,
    million(median(rates[i])),
    nanoseconds(rates[i]),
    `± ${spread(rates[i]).toFixed(0)} %`,
  ]
  return table(['limiter', 'median', 'one takes', 'spread'], names.map(row))
}

const nanoseconds = (rates) => `${count(1e9 / median(rates))} ns`

function ratioLines(title, names, rates, budget) {
  return names
    .slice(1)
    .map((name, i) =>
      ratioLine(
        `sluice / ${name}, ${title}`,
        median(rates[0]) / median(rates[i + 1]),
        name === PEER ? budget : undefined,
      ),
    )
}

// --- our own algorithms ---

async function reportAlgorithms() {
  const algorithms = ['sliding_window', 'token_bucket', 'gcra', 'fixed_window']
  const task = { task: 'decisions', contestant: 'sluice', keys: 10_000, perRound: 500_000, rounds: 3, held }
  const tasks = algorithms.flatMap((algorithm) => [
    { ...task, algorithm, workload: 'half' },
    { ...task, algorithm, workload: 'all' },
  ])
  // A log that is exact forgets hits one by one: a window short enough that it does so while it is measured.
  tasks.push({ ...task, algorithm: 'sliding_log', workload: 'log', limit: 10, windowMs: 100 })
  tasks.push({ ...task, contestant: 'sluice, awaited', workload: 'half' })
  const results = await measureAll(tasks, 2)
  const rows = tasks.map(({ algorithm, limit = '1,000', windowMs }, i) => {
    const rates = results[i].flatMap((run) => run.perSecond)
    const refused = `${(100 * median(results[i].map((run) => run.refusedShare))).toFixed(0)} %`
    const name = algorithm ?? 'sliding_window, awaited'
    return [
      name,
      `${limit} in ${windowMs ? `${windowMs} ms` : 'a day'}`,
      refused,
      million(median(rates)),
      nanoseconds(rates),
    ]
  })
  say('Sluice by algorithm: 10,000 keys', '', table(['algorithm', 'limit', 'refused', 'median', 'one takes'], rows))
}

// --- memory and pauses ---

async function reportBytes() {
  const names = ['sluice', PEER, STORE]
  const results = await measureAll(
    names.map((contestant) => ({ task: 'bytes', contestant, keys: MILLION })),
    1,
  )
  const rows = results.map(([run], i) => [names[i], run.withoutStrings.toFixed(1), run.withStrings.toFixed(1)])
  const head = ['limiter', 'strings held elsewhere', 'strings its own']
  say('Bytes for one key: 1,000,000 keys, heap and array buffers after a full collection', '', table(head, rows))
  const ours = Math.max(results[0][0].withoutStrings, results[0][0].withStrings)
  say(`bytes for one key: ${ours.toFixed(1)} (budget ${BYTES_BUDGET}: ${ours <= BYTES_BUDGET ? 'met' : 'missed'})`)
}

async function reportPauses() {
  const names = ['sluice', PEER, STORE]
  const results = await measureAll(
    names.map((contestant) => ({ task: 'pauses', contestant, keys: MILLION, flood: MILLION / 2 })),
  )
  const us = (runs, pick) => `${count(median(runs.map(pick)))} µs`
  const rows = results.map((runs, i) => [
    names[i],
    us(runs, (run) => run.growing.p9999Us),
    us(runs, (run) => run.growing.maxUs),
    us(runs, (run) => run.flooded.p9999Us),
    us(runs, (run) => run.flooded.maxUs),
  ])
  const head = ['limiter', 'growing: 99.99 %', 'longest', 'flooded: 99.99 %', 'longest']
  say(
    'Time of a single decision: growing to 1,000,000 keys, then 500,000 new keys more (Sluice: at maxKeys)',
    '',
    table(head, rows),
  )
}

const startedAt = Date.now()
const command = `npm run bench -- memory${held ? ' --held' : ''}`
say(header(command, ['sluice', PEER, STORE]))
for (const workload of ['half', 'all']) {
  for (const keys of [1, 10_000, MILLION]) await reportDecisions(keys, workload)
}
if (!held) {
  await reportAlgorithms()
  await reportBytes()
  await reportPauses()
}
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
