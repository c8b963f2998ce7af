import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { compileObjects } from '../dist/core/rules/compile.js'
import { Limiter } from '../dist/engine/limiter.js'
import { MemoryStore } from '../dist/stores/memory/memory-store.js'
import { HotKeys } from '../server/dist/observe/hot-keys/hot-keys.js'
import { DecisionMetrics } from '../server/dist/observe/metrics/decision-metrics.js'
import { RuleStats } from '../server/dist/observe/rule-stats.js'
import { pinClient, pinServer } from './grpc/cores.mjs'
import { Load } from './grpc/load.mjs'
import { header, median, table } from './report.mjs'
import { cpuUs, startService, stop, watched } from './rls/server-process.mjs'
import { rulesOf, trafficOf } from './rls/traffic.mjs'

// npm run bench -- observe [--quick]: what metrics and hot keys cost. A decision from memory over gRPC with and without
// them, as processor time of the server, in rounds that alternate between processes; two of them have neither, and
// differ by noise alone. What counting alone takes, in this process; and a scrape of 20,000 series.

const BUDGET = 0.03
const IN_FLIGHT = 64
const CONNECTIONS = 4
const RULES = 3_600
const COUNTED = 1_000_000

const isQuick = process.argv.includes('--quick')
const { groups, rounds, ms, scrapes } = isQuick
  ? { groups: 1, rounds: 2, ms: 300, scrapes: 3 }
  : { groups: 3, rounds: 20, ms: 400, scrapes: 20 }

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const rules = join(dir, 'rules.yaml')
writeFileSync(rules, rulesOf('exact'))
const us = (value) => `${value.toFixed(2)} µs`
const percent = (value) => `${(100 * value).toFixed(1)} %`
const say = (...lines) => console.log(`${lines.join('\n')}\n`)

const OFF = ['--metrics', 'off', '--hot-keys', 'off']
/** The services of a group. The others are compared with the first. */
const SERVICES = [
  { name: 'neither', flags: OFF },
  { name: 'neither, again', flags: OFF },
  { name: 'metrics', flags: ['--metrics', 'on', '--hot-keys', 'off'] },
  { name: 'hot keys', flags: ['--metrics', 'off', '--hot-keys', 'on'] },
  { name: 'both', flags: ['--metrics', 'on', '--hot-keys', 'on'] },
]

/** Starts a service and the connections to it. */
async function openOne({ flags }) {
  const server = await startService({ rules, workers: 1, more: flags })
  pinServer(server.child.pid)
  const { traffic } = trafficOf(1)
  return { server, load: await Load.open(server.port, CONNECTIONS, traffic) }
}

/** The processor time of a decision, in µs. */
async function round({ server, load }) {
  return load.closed(IN_FLIGHT / CONNECTIONS, async () => {
    await pause(ms / 5)
    const [before, answers] = [cpuUs(server), load.answers]
    await pause(ms)
    return (cpuUs(server) - before) / (load.answers - answers)
  })
}

/** Runs the services side by side. They take turns, and in each round another one is first. */
async function groupOf() {
  const all = []
  for (const service of SERVICES) all.push(await openOne(service))
  const times = all.map(() => [])
  for (const one of all) await round(one)
  for (let i = 0; i < rounds; i++) {
    for (let j = 0; j < all.length; j++) {
      const which = (i + j) % all.length
      times[which].push(await round(all[which]))
    }
  }
  for (const { server, load } of all) {
    load.close()
    await stop(server)
  }
  return times
}

const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)]

async function measureDecisions() {
  const found = []
  for (let i = 0; i < groups; i++) found.push(await groupOf())
  // Rounds that follow each other had the same machine.
  const rows = SERVICES.map(({ name }, which) => {
    const costs = found.flatMap((times) => times[which].map((us, i) => us / times[0][i] - 1))
    const medians = found.map((times) => median(times[which].map((us, i) => us / times[0][i] - 1)))
    return { name, us: median(found.flatMap((times) => times[which])), costs, medians, cost: median(medians) }
  })
  say(
    `Processor time of a decision from memory over gRPC: ${groups} groups of processes, ${rounds} rounds each`,
    '',
    table(
      ['', 'a decision', 'more than neither', 'by group', 'half of the rounds'],
      rows.map(({ name, us: each, costs, medians, cost }) => [
        name,
        us(each),
        percent(cost),
        medians.map(percent).join(', '),
        `${percent(quantile(costs, 0.25))} to ${percent(quantile(costs, 0.75))}`,
      ]),
    ),
    '',
    ...verdictsOf(rows),
  )
  return rows[0].us
}

/** Holds each cost to the budget, unless two services that do the same differ by more than it. */
function verdictsOf([, again, ...rows]) {
  const spread = quantile(again.costs, 0.75) - quantile(again.costs, 0.25)
  // How far medians of so many rounds are off by chance, or were.
  const noise = Math.max(...again.medians.map(Math.abs), spread / Math.sqrt(again.costs.length))
  return rows.map(({ name, cost }) => {
    const goal = `budget of ${name}, ${percent(cost)} of a decision (<= ${percent(BUDGET)})`
    if (noise > BUDGET) return `${goal}: void, two that do the same differ by up to ${percent(noise)}`
    return `${goal}: ${cost <= BUDGET ? 'met' : 'missed'}`
  })
}

/** What counting a decision alone takes: in this process, without a network, and so with less noise. */
function measureObservers(decisionUs) {
  const rules = compileObjects([JSON.parse(rulesOf('exact'))])
  const limiter = new Limiter(() => rules, new MemoryStore())
  const charges = limiter.plan({ domain: 'bench', descriptors: [{ entries: [{ key: 'api_key', value: 'a' }] }] })
  const decision = limiter.decide(charges)
  const observers = {
    metrics: new DecisionMetrics(() => rules, 1_000),
    'hot keys': new HotKeys(0),
    'counts of /stats': new RuleStats(),
  }
  const rows = Object.entries(observers).map(([name, observer]) => {
    const own = median(Array.from({ length: 20 }, () => cpuOf(() => observer.decided('rls', charges, decision, 0.03))))
    return [name, `${(1_000 * own).toFixed(0)} ns`, percent(own / decisionUs)]
  })
  say('Counting a decision alone', '', table(['', 'processor time', 'of a decision over gRPC'], rows))
}

/** The processor time of a call, in µs. */
function cpuOf(call) {
  const before = process.cpuUsage()
  for (let i = 0; i < COUNTED; i++) call()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / COUNTED
}

async function measureScrape() {
  const many = join(dir, 'many.yaml')
  const descriptors = Array.from({ length: RULES }, (_, i) => ({
    key: `key_${i}`,
    rate_limit: { unit: 'day', requests_per_unit: 1_000 },
  }))
  writeFileSync(many, JSON.stringify({ domain: 'bench', descriptors }))
  const more = ['--metrics-max-rules', String(RULES)]
  const server = await startService({ rules: many, workers: 1, watched: true, more })
  const http = async (path) => (await fetch(`${server.admin}${path}`)).text()
  const text = await http('/metrics')
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
  for (let i = 0; i < 5; i++) await http('/metrics')
  await watched(server)
  const before = cpuUs(server)
  const times = []
  for (let i = 0; i < scrapes; i++) {
    const startedAt = performance.now()
    await http('/metrics')
    times.push(performance.now() - startedAt)
    await pause(50)
  }
  const { delayLongestMs } = await watched(server)
  const used = (cpuUs(server) - before) / scrapes / 1000
  say(
    `A scrape of ${series} series, ${(text.length / 1e6).toFixed(1)} MB: ${median(times).toFixed(0)} ms, ` +
      `${used.toFixed(0)} ms of processor time; the event loop was late by at most ${delayLongestMs.toFixed(0)} ms`,
  )
  await stop(server)
}

say(header(`npm run bench -- observe${isQuick ? ' --quick' : ''}`, ['sluice']))
pinClient(process.pid)
try {
  measureObservers(await measureDecisions())
  await measureScrape()
} finally {
  rmSync(dir, { recursive: true })
}
process.exit()
