// A node of its own process: it asks about one counter on a schedule, and counts what is admitted in each slot of time.
// Usage: node node.mjs {"url", "kind", "limit", "key", "phases": [{"ms", "perSecond"}], "slotMs"}
import { compileLimit } from '../../dist/core/limit.js'
import { LeasedStore } from '../../dist/stores/leased/leased-store.js'
import { RedisStore } from '../../dist/stores/redis/redis-store.js'
import { SampledStore } from '../../dist/stores/sampled/sampled-store.js'

const { url, kind, limit: options, key, phases, slotMs } = JSON.parse(process.argv[2])
const limit = compileLimit(options)
const policy = { consistency: kind, onStoreFailure: 'closed', localShare: 1, timeoutMs: 10_000 }
const charges = [{ key, limit, cost: 1, enforce: true, policy }]
/** A node that falls behind by more than this does not catch up: the rest was not offered. */
const MOST_AT_ONCE = 2_000

let isConnected = () => {}
const connected = new Promise((resolve) => {
  isConnected = resolve
})
const redis = new RedisStore({ url, timeoutMs: 10_000, events: { connected: () => isConnected() } })
const store = new SampledStore(new LeasedStore(redis, { timeoutMs: () => 10_000 }), redis)
await connected

const slots = Math.ceil(phases.reduce((sum, { ms }) => sum + ms, 0) / slotMs)
const offered = new Array(slots).fill(0)
const admitted = new Array(slots).fill(0)
let failures = 0
let longestStallMs = 0

process.once('message', ({ startAtMs }) => run(startAtMs))
process.send('ready')

async function run(startAtMs) {
  const cpu = process.cpuUsage()
  let dueByThen = 0
  let lastAtMs = startAtMs
  const open = new Set()
  for (let nowMs = Date.now(); ; nowMs = Date.now()) {
    const atMs = nowMs - startAtMs
    const slot = Math.floor(atMs / slotMs)
    if (slot >= slots) break
    if (atMs >= 0) {
      longestStallMs = Math.max(longestStallMs, nowMs - lastAtMs)
      const due = dueAt(atMs)
      const count = Math.min(MOST_AT_ONCE, Math.floor(due - dueByThen))
      dueByThen = due - (due - dueByThen - count > MOST_AT_ONCE ? 0 : due - dueByThen - count)
      offered[slot] += count
      for (let i = 0; i < count; i++) ask(slot, open)
    }
    lastAtMs = Math.max(startAtMs, nowMs)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const { user, system } = process.cpuUsage(cpu)
  await Promise.allSettled(open)
  const { sampledReports } = store.stats
  process.send({ offered, admitted, failures, cpuMs: (user + system) / 1_000, sampledReports, longestStallMs })
  await store.close()
  process.disconnect()
}

/** Decides about one hit. What Redis decides is counted when it was asked. */
function ask(slot, open) {
  const answer = store.decide(charges)
  if (!(answer instanceof Promise)) {
    if (answer[0].allowed) admitted[slot]++
    return
  }
  const done = answer.then(
    ([verdict]) => {
      if (verdict.allowed) admitted[slot]++
    },
    () => {
      failures++
    },
  )
  open.add(done)
  done.finally(() => open.delete(done))
}

/** Returns how many hits are due by a moment. */
function dueAt(atMs) {
  let due = 0
  let fromMs = 0
  for (const { ms, perSecond } of phases) {
    due += (perSecond * Math.min(Math.max(0, atMs - fromMs), ms)) / 1_000
    fromMs += ms
  }
  return due
}
