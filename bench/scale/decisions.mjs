import { setTimeout as pause } from 'node:timers/promises'
import { randomOrder } from '../memory/keys.mjs'
import { Load } from './load.mjs'
import { chargesOf, openNode, openRedis } from './nodes.mjs'

/** The workloads: how many callers, and their rule. `spent` says which callers have used everything up beforehand. */
const WORKLOADS = {
  'one hot key': { callers: 1, rule: { unit: 'day', requests_per_unit: 4_000_000_000 } },
  '1,000 callers': { callers: 1_000, rule: { unit: 'day', requests_per_unit: 100_000_000 } },
  '1,000 callers, half refused': {
    callers: 1_000,
    rule: { unit: 'day', requests_per_unit: 100_000_000 },
    spent: (n) => n % 2 === 0,
  },
  '1,000 callers at twice their limit': { callers: 1_000, rule: { unit: 'second', requests_per_unit: 10 } },
}

/** openWorkload makes a node of a kind, and the load on it. `every time` is Redis alone, without anything in memory. */
async function openWorkload({ kind, url, server }, name) {
  const { callers, rule, spent } = WORKLOADS[name]
  await server.flushAll()
  const isBare = kind === 'every time'
  const store = isBare ? await openRedis(url) : await openNode(url)
  const charges = chargesOf(callers, { ...rule, consistency: isBare ? 'exact' : kind })
  if (spent !== undefined) {
    const used = charges.filter((_, n) => spent(n)).map(([charge]) => ({ ...charge, cost: charge.limit.capacity }))
    for (const charge of used) await store.decide([charge])
  }
  const stats = () => store.stats ?? { decisions: load.done, asked: load.done, exchanges: 0 }
  const load = new Load((n) => store.decide(charges[n]), randomOrder(callers, Math.max(callers, 1_000)))
  return { store, load, look: () => snapshot(server, load, stats()) }
}

/** rates measures decisions with each number in flight. */
export async function rates({ workloads, levels, ms, warmUpMs, ...node }) {
  const results = {}
  for (const name of workloads) {
    const { store, load, look } = await openWorkload(node, name)
    await load.closed(64, () => pause(warmUpMs))
    results[name] = {}
    for (const level of levels) {
      results[name][level] = await load.closed(level, () => measured(look, ms, warmUpMs))
    }
    results[name].reasons = load.reasons
    await store.close()
  }
  return results
}

/** times measures how long a decision takes, arrivals being on a schedule. */
export async function times({ workloads, ms, warmUpMs, ...node }) {
  const results = {}
  for (const [name, perSecond] of Object.entries(workloads)) {
    const { store, load, look } = await openWorkload(node, name)
    let before
    const warmedUp = () => {
      before = look()
    }
    const sorted = await load.open(perSecond, { ms, warmUpMs, mostInFlight: 4_096, warmedUp })
    const at = (share) => sorted[Math.ceil(share * sorted.length) - 1]
    const grown = difference(await before, await look())
    results[name] = { p50: at(0.5), p99: at(0.99), ...grown, reasons: load.reasons }
    await store.close()
  }
  return results
}

async function measured(look, ms, warmUpMs) {
  await pause(warmUpMs / 3)
  const before = await look()
  await pause(ms)
  return difference(before, await look())
}

/** snapshot reads the counters here in this very turn, and then those of the server. */
async function snapshot(server, load, { asked, exchanges }) {
  const { user, system } = process.cpuUsage()
  const { done, refused, failed } = load
  const here = { atMs: performance.now(), done, refused, failed, asked, exchanges, nodeUs: user + system }
  const info = await server.info('everything')
  const callsOf = (command) => numberIn(info, new RegExp(`^cmdstat_${command}:calls=([0-9]+)`, 'm'))
  return {
    ...here,
    redisUs: 1e6 * (numberIn(info, /^used_cpu_user:(.*)$/m) + numberIn(info, /^used_cpu_sys:(.*)$/m)),
    calls: callsOf('fcall') + callsOf('evalsha') + callsOf('eval') + callsOf('publish'),
  }
}

const numberIn = (text, pattern) => Number(pattern.exec(text)?.[1] ?? 0)

function difference(before, after) {
  const grown = (name) => after[name] - before[name]
  const decisions = grown('done')
  return {
    perSecond: (1000 * decisions) / grown('atMs'),
    refused: grown('refused') / decisions,
    failed: grown('failed'),
    asked: grown('asked') / decisions,
    exchanges: grown('exchanges') / decisions,
    calls: grown('calls') / decisions,
    redisUs: grown('redisUs') / decisions,
    nodeUs: grown('nodeUs') / decisions,
  }
}
