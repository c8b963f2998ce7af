import { openSync, readSync } from 'node:fs'
import { PerformanceObserver, performance } from 'node:perf_hooks'
import { Limiter } from '../../dist/engine/limiter.js'
import { LiveRules } from '../../dist/engine/live-rules.js'
import { ThreadLoader } from '../../dist/sources/thread-loader.js'
import { MemoryStore } from '../../dist/stores/memory/memory-store.js'
import { cases } from '../rules/cases.mjs'
import { ruleText } from '../rules/text.mjs'

// node --expose-gc worker.mjs '{"name", "count", "reloads", "isAway"}' prints one JSON object: how long decisions had
// to wait while rules were reloaded, and while they were not.

const PER_TURN = 20
const { name, count, reloads, isAway } = JSON.parse(process.argv[2])

/** A source that delivers what the test sets. */
const source = {
  name: 'bench',
  start(receiver) {
    source.receiver = receiver
    return receiver.apply(inputs(0))
  },
  readNow: () => source.receiver.apply(inputs(0)),
  stop() {},
}
const inputs = (version) => [{ file: 'rules.yaml', text: `${ruleText(name, count)}# version ${version}\n` }]

/** How long this thread was ready to run and did not get a processor, in ms, as Linux counts it. */
const queued = (() => {
  try {
    const file = openSync(`/proc/self/task/${process.pid}/schedstat`)
    const bytes = Buffer.alloc(100)
    return () => Number(bytes.toString('latin1', 0, readSync(file, bytes, 0, 100, 0)).split(' ')[1]) / 1e6
  } catch {
    return () => 0
  }
})()

const gcs = []
new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) gcs.push({ startTime, duration })
}).observe({ entryTypes: ['gc'] })

const live = new LiveRules(isAway ? { loader: new ThreadLoader() } : {})
if (!(await live.follow([source]))) throw new Error('the rules are wrong')
const limiter = new Limiter(live.current, new MemoryStore())
const { entries } = cases[name]
const requests = Array.from({ length: 5_000 }, (_, i) => ({
  domain: 'd',
  descriptors: [{ entries: entries(i, i % 7) }],
}))
let at = 0

/** Makes some decisions, and lets the event loop go round. */
function turn() {
  for (let i = 0; i < PER_TURN; i++) limiter.check(requests[at++ % requests.length])
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * Decides until something is done. It returns how long each turn took, in ms, without the time in which this thread
 * wanted to run and another process had the processor.
 */
async function watch(isDone) {
  const gaps = []
  const ends = []
  let [before, queuedBefore] = [performance.now(), queued()]
  const startedAt = before
  while (!isDone()) {
    await turn()
    const [now, queuedNow] = [performance.now(), queued()]
    gaps.push(now - before - (queuedNow - queuedBefore))
    ends.push(now)
    before = now
    queuedBefore = queuedNow
  }
  const longest = gaps.indexOf(Math.max(...gaps))
  return {
    ms: before - startedAt,
    gaps,
    longest: gaps[longest],
    from: ends[longest - 1] ?? startedAt,
    to: ends[longest],
  }
}

async function reload(version) {
  const next = inputs(version)
  let result
  void source.receiver.apply(next).then((isGood) => {
    result = isGood
  })
  const watched = await watch(() => result !== undefined)
  if (result !== true) throw new Error('the rules were refused')
  return watched
}

function idle(ms) {
  const end = performance.now() + ms
  return watch(() => performance.now() > end)
}

/** Adds up what the garbage collector took of the longest turn. */
function gcWithin({ from, to }) {
  const within = gcs.filter(({ startTime, duration }) => startTime + duration > from && startTime < to)
  return within.reduce(
    (sum, { startTime, duration }) => sum + Math.min(to, startTime + duration) - Math.max(from, startTime),
    0,
  )
}

function summary(runs) {
  const sorted = Float64Array.from(runs.flatMap(({ gaps }) => gaps)).sort()
  const quantile = (q) => sorted[Math.floor(q * (sorted.length - 1))]
  const worst = runs.reduce((a, b) => (a.longest > b.longest ? a : b))
  return {
    ms: runs.map(({ ms }) => ms),
    p50: quantile(0.5),
    p99: quantile(0.99),
    longest: worst.longest,
    gc: gcWithin(worst),
  }
}

await idle(1_000)
const runs = { reloading: [], otherwise: [] }
for (let version = 1; version <= reloads; version++) {
  // The text that the last one made is not this one's garbage.
  gc()
  runs.otherwise.push(await idle(500))
  runs.reloading.push(await reload(version))
}
if (live.counts.loads !== reloads + 1) throw new Error(`${live.counts.loads} loads`)
// Garbage collections are reported a moment later.
await new Promise((resolve) => setTimeout(resolve, 100))
process.stdout.write(JSON.stringify({ reloading: summary(runs.reloading), otherwise: summary(runs.otherwise) }))
live.stop()
