import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { compileObjects } from '../dist/core/rules/compile.js'
import { Limiter } from '../dist/engine/limiter.js'
import { MemoryStore } from '../dist/stores/memory/memory-store.js'
import { DecisionMetrics } from '../server/dist/observe/metrics/decision-metrics.js'
import { pinClient, pinServer } from './grpc/cores.mjs'
import { Load } from './grpc/load.mjs'
import { header, median, table } from './report.mjs'
import { cpuUs, startService, stop, watched } from './rls/server-process.mjs'
import { rulesOf, trafficOf } from './rls/traffic.mjs'

// npm run bench -- observe [--quick]: what metrics cost. A decision from memory over gRPC with and without them, as processor
// time of the server, in rounds that alternate between two processes; and a scrape of 20,000 series.

const BUDGET = 0.03
const IN_FLIGHT = 64
const CONNECTIONS = 4
const RULES = 3_600
const COUNTED = 1_000_000

const isQuick = process.argv.includes('--quick')
const { pairs, rounds, ms, scrapes } = isQuick
  ? { pairs: 1, rounds: 2, ms: 500, scrapes: 3 }
  : { pairs: 3, rounds: 20, ms: 600, scrapes: 20 }

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const rules = join(dir, 'rules.yaml')
writeFileSync(rules, rulesOf('exact'))
const us = (value) => `${value.toFixed(2)} µs`
const percent = (value) => `${(100 * value).toFixed(1)} %`
const say = (...lines) => console.log(`${lines.join('\n')}\n`)

/** openOne starts a service and the connections to it. */
async function openOne(metrics) {
  const server = await startService({ rules, workers: 1, more: ['--metrics', metrics] })
  pinServer(server.child.pid)
  const { traffic } = trafficOf(1)
  return { server, load: await Load.open(server.port, CONNECTIONS, traffic) }
}

/** round is the processor time of a decision, in µs. */
async function round({ server, load }) {
  return load.closed(IN_FLIGHT / CONNECTIONS, async () => {
    await pause(ms / 5)
    const [before, answers] = [cpuUs(server), load.answers]
    await pause(ms)
    return (cpuUs(server) - before) / (load.answers - answers)
  })
}

/** pairOf runs two services side by side, which take turns, and in each turn another one is first. */
async function pairOf() {
  const both = [await openOne('on'), await openOne('off')]
  const times = [[], []]
  for (const one of both) await round(one)
  for (let i = 0; i < rounds; i++) {
    for (const which of i % 2 === 0 ? [0, 1] : [1, 0]) times[which].push(await round(both[which]))
  }
  for (const { server, load } of both) {
    load.close()
    await stop(server)
  }
  // Rounds that follow each other had the same machine.
  const ratio = median(times[0].map((on, i) => on / times[1][i]))
  return { on: median(times[0]), off: median(times[1]), cost: ratio - 1 }
}

async function measureDecisions() {
  const all = []
  for (let i = 0; i < pairs; i++) all.push(await pairOf())
  const rows = all.map(({ on, off, cost }, i) => [`pair ${i + 1}`, us(on), us(off), percent(cost)])
  const cost = median(all.map((each) => each.cost))
  say(
    'Processor time of a decision from memory over gRPC (medians; the difference is that of rounds that follow each other)',
    '',
    table(['', 'with metrics', 'without', 'difference'], rows),
    '',
    `budget of metrics, ${percent(cost)} of a decision (<= ${percent(BUDGET)}): ${cost <= BUDGET ? 'met' : 'missed'}`,
  )
  return median(all.map(({ off }) => off))
}

/** measureObserver is what counting a decision takes by itself: in this process, without a network, and so with less noise. */
function measureObserver(decisionUs) {
  const rules = compileObjects([JSON.parse(rulesOf('exact'))])
  const metrics = new DecisionMetrics(() => rules, 1_000)
  const limiter = new Limiter(() => rules, new MemoryStore())
  const charges = limiter.plan({ domain: 'bench', descriptors: [{ entries: [{ key: 'api_key', value: 'a' }] }] })
  const decision = limiter.decide(charges)
  const times = []
  for (let i = 0; i < 20; i++) {
    const before = process.cpuUsage()
    for (let j = 0; j < COUNTED; j++) metrics.decided('rls', charges, decision, 0.03)
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / COUNTED)
  }
  const own = median(times)
  say(`Counting a decision by itself: ${(1_000 * own).toFixed(0)} ns, ${percent(own / decisionUs)} of the above`)
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
      `${used.toFixed(0)} ms of processor time; the event loop was late by ${delayLongestMs.toFixed(0)} ms at the most`,
  )
  await stop(server)
}

say(header(`npm run bench -- observe${isQuick ? ' --quick' : ''}`, ['sluice']))
pinClient(process.pid)
try {
  measureObserver(await measureDecisions())
  await measureScrape()
} finally {
  rmSync(dir, { recursive: true })
}
process.exit()
