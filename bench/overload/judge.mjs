import { quantile } from '../pace.mjs'
import { CLASSES } from './classes.mjs'

export const BIN_MS = 500
const CRITICAL = 0
const TEST = CLASSES.length - 1
/** A class is being shed from this share on, and is not any more below that: in between it stays what it was. */
const SHED_FROM = 0.5
const SHED_TO = 0.05

/** Counts the requests that were due from one time to another. */
export function figuresOf(records, fromMs, toMs) {
  return CLASSES.map((_, kind) => {
    const times = []
    let offered = 0
    let firstShedMs = Number.POSITIVE_INFINITY
    for (let i = 0; i < records.dueMs.length; i++) {
      const dueMs = records.dueMs[i]
      if (records.kind[i] !== kind || dueMs < fromMs || dueMs >= toMs) continue
      offered++
      if (records.status[i] === 200) times.push(records.tookMs[i])
      else firstShedMs = Math.min(firstShedMs, dueMs)
    }
    times.sort((one, other) => one - other)
    const served = offered === 0 ? 1 : times.length / offered
    return { offered, count: times.length, served, p50: quantile(times, 0.5), p99: quantile(times, 0.99), firstShedMs }
  })
}

/** The figures of each half second. */
export function binsOf(records, totalMs) {
  const bins = Array.from({ length: Math.ceil(totalMs / BIN_MS) }, () => ({
    dueMs: [],
    kind: [],
    status: [],
    tookMs: [],
  }))
  records.dueMs.forEach((dueMs, i) => {
    const bin = bins[Math.floor(dueMs / BIN_MS)]
    for (const key of ['dueMs', 'kind', 'status', 'tookMs']) bin?.[key].push(records[key][i])
  })
  return bins.map((bin, i) => ({ fromMs: i * BIN_MS, classes: figuresOf(bin, 0, Number.POSITIVE_INFINITY) }))
}

/** How often a class began to be shed, or ceased to be. */
export function changesOf(bins, kind) {
  let isShed = false
  let changes = 0
  for (const { classes } of bins) {
    const shed = 1 - classes[kind].served
    if (isShed ? shed < SHED_TO : shed > SHED_FROM) {
      isShed = !isShed
      changes++
    }
  }
  return changes
}

/** How long after the overload requests were still refused, or critical ones slow. */
export function recoveryMs(bins, endMs, slowMs) {
  let lastMs = endMs
  for (const { fromMs, classes } of bins) {
    if (fromMs < endMs) continue
    const offered = classes.reduce((sum, each) => sum + each.offered, 0)
    const served = classes.reduce((sum, each) => sum + each.count, 0)
    if (served < 0.99 * offered || classes[CRITICAL].p99 > slowMs) lastMs = fromMs + BIN_MS
  }
  return lastMs - endMs
}

/** Says what a run shows. `phases` are when the load was calm, too much, and calm again. */
export function judge(records, { calm, overload, after }) {
  const bins = binsOf(records, after[1])
  const [before, during] = [figuresOf(records, ...calm), figuresOf(records, ...overload)]
  const slowMs = 2 * before[CRITICAL].p99
  const counted = bins.filter(({ fromMs }) => fromMs >= calm[0])
  return {
    bins,
    before,
    during,
    after: figuresOf(records, ...after),
    recoveryMs: recoveryMs(bins, overload[1], slowMs),
    changes: CLASSES.map((_, kind) => changesOf(counted, kind)),
  }
}

/** What is promised of a run, and whether it is so. */
export function claimsOf({ before, during, recoveryMs: tookMs, changes }, { mostRecoveryMs }) {
  const percent = (share) => `${(100 * share).toFixed(1)} %`
  const order = during.map(({ served }) => served)
  const isInOrder = order.every((served, i) => i === 0 || served <= order[i - 1])
  const first = during.map(({ firstShedMs }) => firstShedMs)
  return [
    [
      'nothing is shed at half of the capacity',
      `${percent(Math.min(...before.map(({ served }) => served)))} served`,
      before.every(({ served }) => served >= 0.999),
    ],
    ['critical: 99 % served', percent(during[CRITICAL].served), during[CRITICAL].served >= 0.99],
    [
      'critical: p99 within 2 × of the unloaded one',
      `${during[CRITICAL].p99.toFixed(0)} of ${before[CRITICAL].p99.toFixed(0)} ms, ${(during[CRITICAL].p99 / before[CRITICAL].p99).toFixed(2)} ×`,
      during[CRITICAL].p99 <= 2 * before[CRITICAL].p99,
    ],
    ['what matters less is served less', order.map(percent).join(', '), isInOrder && during[TEST].served < 0.1],
    ['test is shed first', `${percent(1 - during[TEST].served)} of it`, first.every((ms) => first[TEST] <= ms)],
    [`recovers within ${mostRecoveryMs / 1_000} s`, `${(tookMs / 1_000).toFixed(1)} s`, tookMs <= mostRecoveryMs],
    ['does not flap: each class changes at most twice', changes.join(', '), changes.every((count) => count <= 2)],
  ]
}
