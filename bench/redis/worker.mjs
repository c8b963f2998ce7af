import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@redis/client'
import { randomOrder } from '../memory/keys.mjs'
import { contestants } from './contestants.mjs'
import { Load } from './load.mjs'

// node worker.mjs '{"task": …, "contestant": …}' prints one JSON object. One process measures one contestant.

const WARM_UP_MS = 400
const tasks = { load, bytes }

const { task, contestant, ...options } = JSON.parse(process.argv[2])
const make = contestants[contestant]
const servers = await Promise.all(
  options.servers.map(async (url) => {
    const client = createClient({ url })
    await client.connect()
    await client.flushAll()
    return client
  }),
)
process.stdout.write(JSON.stringify(await tasks[task](options)), () => process.exit(0))

/** Measures decisions with each number in flight, and the time of one at half of the rate at `halfOf` in flight. */
async function load({ callers, levels, ms, halfOf, latencyMs, ...settings }) {
  const limiter = await make({ callers, ...settings })
  const work = new Load(limiter.decide, randomOrder(callers, callers))
  await work.closed(64, () => pause(WARM_UP_MS))
  const results = {}
  for (const level of levels) results[level] = await work.closed(level, () => measured(work, limiter, ms))
  const failed = { ...work.failed }
  if (halfOf === undefined) return { levels: results, voids: await voidsOf(work, limiter, [failed]) }
  const perSecond = results[halfOf].perSecond / 2
  work.failed = {}
  const before = limiter.calls?.()
  const times = await work.open(perSecond, { ms: latencyMs, warmUpMs: WARM_UP_MS, mostInFlight: 4_096 })
  const at = (share) => times[Math.ceil(share * times.length) - 1]
  const perCall = meanPerCall(limiter, before)
  const voids = await voidsOf(work, limiter, [failed, work.failed])
  return { levels: results, latency: { perSecond, p50: at(0.5), p99: at(0.99), perCall }, voids }
}

/** Says why figures are none: decisions failed, were refused far from a limit, or were not counted. */
async function voidsOf(work, limiter, failures) {
  const voids = failures.flatMap(Object.entries).map(([kind, number]) => `${number} decisions failed: ${kind}`)
  if (work.refused > 0) voids.push(`${work.refused} decisions were refused, where none was due`)
  const counted = Number(await limiter.counted())
  if (counted !== work.done) voids.push(`${work.done} were decided, but ${counted} were counted`)
  return voids
}

/** How many decisions a command carried since then. */
function meanPerCall(limiter, before) {
  const after = limiter.calls?.()
  return after === undefined ? 1 : (after.decisions - before.decisions) / (after.calls - before.calls)
}

/** Waits until the load is running, and looks at the counters at the beginning and the end of `ms`. */
async function measured(work, limiter, ms) {
  await pause(WARM_UP_MS / 4)
  const before = await snapshot(work, limiter)
  await pause(ms)
  const after = await snapshot(work, limiter)
  const grown = (name) => after[name] - before[name]
  const decisions = grown('done')
  return {
    perSecond: (1000 * decisions) / grown('atMs'),
    redisUs: grown('redisUs') / decisions,
    nodeUs: grown('nodeUs') / decisions,
    perCall: grown('carried') / grown('calls'),
  }
}

/** Asks the servers first, and reads the rest in the turn in which they have answered. */
async function snapshot(work, limiter) {
  const redisUs = await redisCpuUs()
  const { user, system } = process.cpuUsage()
  const { calls, decisions } = limiter.calls?.() ?? { calls: work.done, decisions: work.done }
  return { redisUs, nodeUs: user + system, atMs: performance.now(), done: work.done, calls, carried: decisions }
}

/** All processor time of all servers so far, in user mode and in the kernel. */
async function redisCpuUs() {
  const infos = await Promise.all(servers.map((server) => server.info('cpu')))
  return 1e6 * infos.reduce((sum, info) => sum + fieldOf(info, 'used_cpu_user') + fieldOf(info, 'used_cpu_sys'), 0)
}

function fieldOf(info, name) {
  return Number(new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)[1])
}

/**
 * Makes one decision for each caller (where each window has a separate key, one in this window and one in the next),
 * and measures what that added to the server.
 */
async function bytes({ callers, nextWindowMs, ...settings }) {
  const [server] = servers
  const limiter = await make({ callers, ...settings })
  const times = nextWindowMs === undefined ? [undefined] : [Date.now(), Date.now() + nextWindowMs]
  for (const now of times) await limiter.decide(0, now)
  const before = await usedMemory(server)
  for (const now of times) {
    for (let from = 0; from < callers; from += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, i) => limiter.decide(from + i, now)))
    }
  }
  const after = await usedMemory(server)
  const keys = limiter.storedKeys(1, times.at(-1))
  const usages = await Promise.all(keys.map((key) => server.memoryUsage(key)))
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)
  return { usage: sum(usages), used: (after - before) / (callers - 1), stored: await server.dbSize(), key: keys[0] }
}

/** What the server holds once its tables have moved to their new size. */
async function usedMemory(server) {
  await pause(700)
  return fieldOf(await server.info('memory'), 'used_memory')
}
