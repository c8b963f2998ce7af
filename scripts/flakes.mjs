import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { CONDITIONS, judgeRound, Round } from './flakes-round.mjs'
import { ensureInstalled, requireNode, root, runMain, SetupError, say } from './setup.mjs'
import { findCommand, tryToEnsureSystemPackages } from './system-packages.mjs'

// npm run flakes [-- [--rounds 6] [--only quiet,busy,one-core,slow-timers] [--minutes N] [--seed N] [PATH…]]
// Runs the tests again and again, in conditions that take turns, and prints which tests do not always pass.

// --- what to do ---

/** A round that takes longer hangs. */
const ROUND_MINUTES = 60
const DEFAULT_ROUNDS = 6

/** Returns what a command line asks for. */
export function readArguments(args, hasCommand = (name) => findCommand(name) !== undefined) {
  const { values, positionals } = parsed(args)
  const conditions = values.only === undefined ? Object.keys(CONDITIONS) : values.only.split(',')
  for (const name of conditions) requireCondition(name)
  const isPossible = (name) => (CONDITIONS[name].before ?? []).slice(0, 1).every(hasCommand)
  const missing = conditions.filter((name) => !isPossible(name))
  if (missing.length > 0 && values.only !== undefined) {
    throw new SetupError(
      `${missing.join(', ')} needs taskset, which this machine does not have; leave it out of --only`,
    )
  }
  return {
    rounds: numberOf('rounds', values.rounds) ?? DEFAULT_ROUNDS,
    minutes: numberOf('minutes', values.minutes, /^(?=.*[1-9])\d{1,5}(\.\d+)?$/) ?? Number.POSITIVE_INFINITY,
    seed: numberOf('seed', values.seed) ?? Math.floor(Math.random() * 1_000_000) + 1,
    conditions: conditions.filter(isPossible),
    missing,
    paths: positionals,
  }
}

function parsed(args) {
  const text = { type: 'string' }
  const options = { rounds: text, only: text, minutes: text, seed: text }
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    throw new SetupError(`${error.message}; there are --rounds, --only, --minutes, --seed and paths of tests`)
  }
}

function requireCondition(name) {
  if (Object.hasOwn(CONDITIONS, name)) return
  throw new SetupError(`"${name}" is no condition; --only takes ${Object.keys(CONDITIONS).join(',')}`)
}

function numberOf(name, value, form = /^[1-9]\d{0,8}$/) {
  if (value === undefined) return undefined
  if (form.test(value)) return Number(value)
  throw new SetupError(`--${name} is a number above 0; got "${value}"`)
}

// --- all rounds ---

/** Runs the rounds in `dir`, and returns whether nothing failed. It stops when `stopping` is aborted. */
export async function flakes(args, { dir = root, stopping = new AbortController().signal, print = console.log } = {}) {
  const { rounds, minutes, seed, conditions, missing, paths } = readArguments(args)
  if (missing.length > 0) say(`without ${missing.join(', ')}: this machine has no taskset`)
  const notesDir = join(dir, 'node_modules', '.cache', 'flakes')
  mkdirSync(notesDir, { recursive: true })
  print(`rounds: ${rounds} of ${conditions.join(', ')}; output in ${notesDir}`)
  const deadline = performance.now() + minutes * 60_000
  const results = []
  for (let i = 0; i < rounds && !stopping.aborted && performance.now() < deadline; i++) {
    const condition = conditions[i % conditions.length]
    const name = `${i + 1}-${condition}`
    const round = { condition, seed: seed + i, paths, dir, notesDir, name }
    const result = await bounded(round, stopping, deadline - performance.now())
    results.push(result)
    for (const line of roundLines(result, i + 1, rounds)) print(line)
  }
  print(`\n${summary(results)}`)
  return results.some(({ stopped }) => stopped === undefined) && results.every(({ failures }) => failures.length === 0)
}

/** Runs a round, which ends when it is stopped, when all time is up, or after an hour, which is a failure. */
async function bounded(settings, stopping, remainingMs) {
  const round = new Round()
  let stopped
  const stop = (why) => () => {
    stopped ??= why
    round.stop()
  }
  const running = round.run(settings)
  const hourMs = ROUND_MINUTES * 60_000
  const isLast = remainingMs < hourMs
  const timer = setTimeout(stop(isLast ? 'the time being up' : 'late'), Math.min(remainingMs, hourMs))
  const onStop = stop('a signal')
  stopping.addEventListener('abort', onStop, { once: true })
  if (stopping.aborted) onStop()
  const result = await running
  clearTimeout(timer)
  stopping.removeEventListener('abort', onStop)
  const { condition, seed } = settings
  if (stopped === undefined) return { ...result, condition, seed, failures: judgeRound(result, result) }
  if (stopped !== 'late') return { ...result, condition, seed, stopped }
  const error = `it took more than ${ROUND_MINUTES} minutes; running were ${[...result.running].join(', ')}`
  return { ...result, condition, seed, failures: [...result.failures, { test: 'the round itself', error }] }
}

// --- what is printed ---

const timesOf = ({ seconds, cpu }) =>
  `${seconds.toFixed(1)} s, ${cpu === undefined ? '?' : cpu.toFixed(1)} s of processor time`

function roundLines(result, number, rounds) {
  const { condition, seed, counts, failures, stopped, running, log } = result
  const drawn = condition === 'slow-timers' ? ` (--seed ${seed})` : ''
  const passed = counts === undefined ? '' : `${counts.passed} passed, `
  const ended = stopped === undefined ? '' : `, stopped by ${stopped}`
  const lines = [
    `round ${number}/${rounds} ${condition}${drawn}: ${passed}${failures.length} failed, ${timesOf(result)}${ended}`,
  ]
  for (const { test, error } of failures) lines.push(`  ${test}: ${error}`)
  if (stopped !== undefined && running.size > 0) lines.push(`  running were ${[...running].join(', ')}`)
  if (failures.length > 0) lines.push(`  all of its output: ${log}`)
  return lines
}

const cell = (value) => String(value).replaceAll('|', '\\|')
const markdown = (...rows) => rows.map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')
const rule = (columns) => Array(columns).fill('---')

/** Returns two tables: which tests failed where and how often, and what the rounds of each condition took. */
export function summary(results) {
  const byCondition = grouped(results)
  return [failureTable(results, byCondition), roundTable(byCondition)].join('\n\n')
}

function grouped(results) {
  const groups = new Map()
  for (const result of results) groups.set(result.condition, [...(groups.get(result.condition) ?? []), result])
  return groups
}

function failureTable(results, byCondition) {
  const rows = new Map()
  for (const { condition, failures } of results) {
    // A test that is repeated in one run, or has two errors, fails once in it.
    for (const test of new Set(failures.map((failure) => failure.test))) {
      const key = JSON.stringify([test, condition])
      const { error } = failures.find((failure) => failure.test === test)
      const row = rows.get(key) ?? { test, condition, count: 0, error }
      row.count++
      rows.set(key, row)
    }
  }
  if (rows.size === 0) return 'nothing failed'
  const lines = [...rows.values()]
    .sort((a, b) => b.count - a.count)
    .map(({ test, condition, count, error }) => [
      `\`${test}\``,
      condition,
      `${count} of ${byCondition.get(condition).length}`,
      error,
    ])
  return markdown(['test', 'condition', 'failed', 'first line of its first error'], rule(4), ...lines)
}

function roundTable(byCondition) {
  const sum = (results, field) => results.reduce((total, result) => total + (result[field] ?? 0), 0).toFixed(1)
  const lines = [...byCondition].map(([condition, results]) => [
    condition,
    results.length,
    results.filter(({ failures }) => failures.length > 0).length,
    sum(results, 'seconds'),
    sum(results, 'cpu'),
  ])
  return markdown(['condition', 'rounds', 'with failures', 'seconds', 'CPU seconds'], rule(5), ...lines)
}

/** Returns a signal that SIGINT and SIGTERM abort. */
export function stopOnSignals() {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopping.abort())
  return stopping.signal
}

async function main() {
  requireNode()
  const args = process.argv.slice(2)
  // Mistakes in it first: what follows may take a while.
  readArguments(args)
  await ensureInstalled()
  await tryToEnsureSystemPackages()
  const { ensureBuilt } = await import('./build.mjs')
  await ensureBuilt()
  process.exitCode = (await flakes(args, { stopping: stopOnSignals() })) ? 0 : 1
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(main)
