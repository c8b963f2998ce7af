import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { count, header, median, spread, table } from './report.mjs'
import { cases } from './rules/cases.mjs'

// npm run bench -- rules: what 100,000 rules cost against 10, for each kind of pattern, and how long rules take to
// load.

const FEW = 10
const MANY = 100_000
const BUDGET = 1.2

const worker = fileURLToPath(new URL('./rules/worker.mjs', import.meta.url))
const execute = promisify(execFile)

async function measure(task) {
  const { stdout } = await execute(process.execPath, ['--expose-gc', worker, JSON.stringify(task)])
  return JSON.parse(stdout)
}

const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const ns = (times) => `${count(median(times))} ns`
const ratio = ([few, many]) => median(many) / median(few)
const times = (value) => `${value.toFixed(2)} ×`
const verdict = (worst) => `worst ${times(worst)} (budget ≤ ${BUDGET} ×: ${worst <= BUDGET ? 'met' : 'missed'})`

/** Asks one process about one case; the sets take turns inside of it, round by round. */
const lookups = (name, many = MANY) => measure({ task: 'lookups', name, few: FEW, many, perRound: 50_000, rounds: 11 })

// --- 10 rules against 100,000 ---

async function reportCases() {
  const results = {}
  for (const name of Object.keys(cases)) results[name] = await lookups(name)
  for (const [traffic, what] of [
    ['hot', 'a hundred descriptors of the first ten rules'],
    ['spread', 'a descriptor of each of the 100,000 rules, in random order'],
  ]) {
    const rows = Object.entries(results).map(([name, result]) => [
      name,
      ...['match', 'decision'].flatMap((kind) => {
        const sets = result[`${traffic} ${kind}`]
        return [...sets.map(ns), times(ratio(sets))]
      }),
      `${spread(result[`${traffic} decision`][1]).toFixed(0)} %`,
    ])
    const head = ['pattern', 'match: 10', '100,000', 'ratio', 'decision: 10', '100,000', 'ratio', '±']
    const worst = Math.max(...Object.values(results).map((result) => ratio(result[`${traffic} decision`])))
    say(`${traffic}: ${what}`, '', table(head, rows), '', `decisions, ${traffic}: ${verdict(worst)}`)
  }
}

// --- how the cost of spread traffic grows ---

async function reportGrowth() {
  const rows = []
  for (const many of [100, 1_000, 10_000, MANY]) {
    const result = await lookups('exact value', many)
    rows.push([
      count(many),
      ...['hot', 'spread'].flatMap((traffic) =>
        ['match', 'decision'].map((kind) => ns(result[`${traffic} ${kind}`][1])),
      ),
    ])
  }
  const head = ['rules', 'hot: match', 'decision', 'spread: match', 'decision']
  say('by number of rules, exact values', '', table(head, rows))
}

// --- accounts ---

async function reportAccounts() {
  const counts = [100, 10_000]
  const results = []
  for (const callers of counts) {
    results.push(await measure({ task: 'accounts', callers, perRound: 50_000, rounds: 11 }))
  }
  const rows = Object.keys(results[0]).map((way) => [
    way,
    ...results.flatMap((result) => [
      ns(result[way]),
      times(median(result[way]) / median(result['the rule'])),
      `${spread(result[way]).toFixed(0)} %`,
    ]),
  ])
  const head = ['a caller has', ...counts.flatMap((callers) => [`${count(callers)} callers`, 'ratio', '±'])]
  say('decisions under a tiered rule and their HTTP fields, by what is known of the caller', '', table(head, rows))
}

// --- loading ---

async function reportLoading() {
  const rows = []
  for (const name of ['exact value', 'wildcard, prefix', 'wildcard, infix', 'address block, IPv4 and IPv6']) {
    const runs = []
    for (let i = 0; i < 3; i++) runs.push(await measure({ task: 'loading', name, count: 10_000 }))
    const [{ textBytes, bytes, ruleCount }] = runs
    rows.push([
      name,
      `${count(textBytes / 1024)} KiB`,
      `${count(median(runs.map(({ ms }) => ms)))} ms`,
      count(bytes / ruleCount),
    ])
  }
  const head = ['pattern', 'YAML', 'text to rules', 'bytes a rule']
  say('loading 10,000 rules: parsing, checking and compiling, in a fresh process', '', table(head, rows))
}

const startedAt = Date.now()
say(header('npm run bench -- rules', ['sluice', 'yaml']))
await reportCases()
await reportGrowth()
await reportAccounts()
await reportLoading()
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
