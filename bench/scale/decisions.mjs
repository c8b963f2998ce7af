import { setTimeout as pause } from 'node:timers/promises'
import { DueRefusals } from '../due-refusals.mjs'
import { randomOrder } from '../memory/keys.mjs'
import { chargedTo } from '../redis-audit.mjs'
import { Load } from './load.mjs'
import { chargesOf, openNode, openRedis } from './nodes.mjs'

/**
 * The workloads: how many callers, and their rule. `spent` says which callers have used everything up beforehand.
 * Callers whose budget is refilled while they are measured are `limited`: what is due to be refused follows from the
 * traffic.
 */
const WORKLOADS = {
  'one hot key': { callers: 1, rule: { unit: 'day', requests_per_unit: 4_000_000_000 } },
  '1,000 callers': { callers: 1_000, rule: { unit: 'day', requests_per_unit: 100_000_000 } },
  '1,000 callers, half refused': {
    callers: 1_000,
    rule: { unit: 'day', requests_per_unit: 100_000_000 },
    spent: (n) => n % 2 === 0,
  },
  '1,000 callers at twice their limit': {
    callers: 1_000,
    rule: { unit: 'second', requests_per_unit: 10 },
    limited: 10,
  },
  '200 callers at ten times their limit': {
    callers: 200,
    rule: { unit: 'second', requests_per_unit: 10 },
    limited: 10,
  },
}
/** In its first window everybody has a whole budget. */
const STEADY = { warmUpMs: 1_500, ms: 3_000 }
const SPENT_SHARE = 0.5
/** Of the share that is due: callers come in a random order. */
const SHARE_MARGIN = 0.1

/** Makes a node of a kind, and the load on it. `every time` is Redis alone, without anything in memory. */
async function openWorkload({ kind, url, server }, name) {
  const { callers, rule, spent, limited } = WORKLOADS[name]
  await server.flushAll()
  const isBare = kind === 'every time'
  const store = isBare ? await openRedis(url) : await openNode(url)
  const charges = chargesOf(callers, { ...rule, consistency: isBare ? 'exact' : kind })
  const used = charges.filter((_, n) => spent?.(n)).map(([charge]) => ({ ...charge, cost: charge.limit.capacity }))
  for (const charge of used) await store.decide([charge])
  const usedBefore = used.reduce((sum, { cost }) => sum + cost, 0)
  const stats = () => store.stats ?? { decisions: load.done, asked: load.done, exchanges: 0 }
  const load = new Load((n) => store.decide(charges[n]), randomOrder(callers, Math.max(callers, 1_000)))
  /** Closes the store, which gives its slices back, and says why the figures are none. */
  const end = async () => {
    await store.close()
    const failures = Object.entries(load.reasons).map(([reason, number]) => `${name}: ${number} failed: ${reason}`)
    if (limited !== undefined) return failures
    const audit = await openRedis(url)
    const counted = (await chargedTo(audit, charges.flat())) - usedBefore
    await audit.close()
    const admitted = load.done - load.refused
    return counted === admitted ? failures : [...failures, `${name}: ${admitted} admitted, ${counted} counted`]
  }
  return { load, look: () => snapshot(server, load, stats()), end }
}

/** Compares refusals with the refusals that are due. Counting that is eventual promises a bound, not a share. */
function shareVoids(kind, name, { refused }, dueRefusals) {
  if (kind === 'eventual') return []
  if (dueRefusals !== undefined) return dueRefusals.judge(refused).voids.map((reason) => `${name}: ${reason}`)
  const due = WORKLOADS[name].spent === undefined ? 0 : SPENT_SHARE
  const isDue = Math.abs(refused - due) <= SHARE_MARGIN * due
  return isDue ? [] : [`${name}: a share of ${refused.toFixed(3)} was refused, where ${due} was due`]
}

/** Measures decisions with each number in flight. */
export async function rates({ workloads, levels, ms, warmUpMs, ...node }) {
  const results = { voids: [] }
  for (const name of workloads) {
    const { load, look, end } = await openWorkload(node, name)
    await load.closed(64, () => pause(warmUpMs))
    results[name] = {}
    for (const level of levels) {
      results[name][level] = await load.closed(level, () => measured(look, ms, warmUpMs))
      results.voids.push(...shareVoids(node.kind, name, results[name][level]))
    }
    results.voids.push(...(await end()))
  }
  return results
}

/** Measures how long a decision takes, arrivals being on a schedule. */
export async function times({ workloads, ms, warmUpMs, ...node }) {
  const results = { voids: [] }
  for (const [name, perSecond] of Object.entries(workloads)) {
    const { load, look, end } = await openWorkload(node, name)
    const { callers, limited } = WORKLOADS[name]
    const dueRefusals = limited && new DueRefusals(callers * limited)
    let before
    const warmedUp = () => {
      load.dueRefusals = dueRefusals
      before = look()
    }
    const sorted = await load.open(perSecond, {
      ...(limited === undefined ? { ms, warmUpMs } : STEADY),
      mostInFlight: 4_096,
      warmedUp,
    })
    const at = (share) => sorted[Math.ceil(share * sorted.length) - 1]
    const grown = difference(await before, await look())
    results[name] = { p50: at(0.5), p99: at(0.99), ...grown }
    results.voids.push(...shareVoids(node.kind, name, grown, dueRefusals), ...(await end()))
  }
  return results
}

async function measured(look, ms, warmUpMs) {
  await pause(warmUpMs / 3)
  const before = await look()
  await pause(ms)
  return difference(before, await look())
}

/** Reads the counters here in the same turn, and then the server's. */
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
