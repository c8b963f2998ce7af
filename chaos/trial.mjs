import { setTimeout as wait } from 'node:timers/promises'
import { LIMIT, startFleet } from './fleet.mjs'
import { contradiction } from './history.mjs'
import { Load } from './load.mjs'

/** How often a second each node is asked. */
const PER_SECOND = 100
const HEALTHY_MS = 1_000
const LASTS_MS = 3_000
const AGAIN_MS = 200
const IN_A_ROW = 20
const HEAL_WITHIN_MS = 60_000

/** What may change while a fault lasts, and does not change without one. */
const TELLING = [
  'ratelimit_circuit_state',
  'ratelimit_redis_errors_total',
  'ratelimit_fallback_total',
  'ratelimit_config_last_load_successful',
  'ratelimit_database_up',
  'process_start_time_seconds',
]

/** Runs one fault against a fleet under load. Returns what was seen, with `failures`: what should not have been. */
export async function tryFault(fault) {
  const fleet = await startFleet(fault.fleet)
  const load = new Load(fleet.nodes, PER_SECOND)
  try {
    const leftBefore = await leftOf(fleet.nodes)
    const watch = new MetricsWatch(fleet.nodes)
    await wait(HEALTHY_MS)
    await watch.begin()
    const begunMs = performance.now()
    await last(fault, fleet, watch)
    // A fault that nobody ends heals by itself, from when it began.
    const endedMs = fault.end || fault.again ? performance.now() : begunMs
    await fault.end?.(fleet)
    const hasRecovered = await load.recovered(IN_A_ROW, HEAL_WITHIN_MS)
    await watch.look()
    const calls = await load.stop()
    const charged = leftBefore - (await leftOf(fleet.nodes))
    return judge(fault, {
      calls,
      charged,
      hasRecovered,
      endedMs,
      changed: watch.changed,
      processes: processesOf(fault),
    })
  } finally {
    await load.stop()
    await fleet.stop()
  }
}

const processesOf = ({ fleet = {} }) => 2 * (fleet.workers ?? 1)

async function last(fault, fleet, watch) {
  const untilMs = performance.now() + (fault.lastsMs ?? LASTS_MS)
  await fault.begin?.(fleet)
  for (let turn = 0; performance.now() < untilMs; turn++) {
    await fault.again?.(fleet, turn)
    await watch.look()
    await wait(AGAIN_MS)
  }
}

/** Returns what is left of the key without an end: what is charged to it shows there. */
async function leftOf(nodes) {
  const response = await nodes.at(-1).check('counted', 0)
  await response.arrayBuffer()
  return Number(response.headers.get('x-ratelimit-remaining'))
}

/** Remembers which families of metrics have changed on some node. */
class MetricsWatch {
  #nodes
  #before
  changed = new Set()

  constructor(nodes) {
    this.#nodes = nodes
  }

  async begin() {
    this.#before = await Promise.all(this.#nodes.map((node) => node.metrics()))
  }

  async look() {
    const now = await Promise.all(this.#nodes.map((node) => node.metrics()))
    for (const [i, metrics] of now.entries()) {
      if (metrics === undefined) this.changed.add('down')
      for (const family of metrics === undefined ? [] : TELLING) {
        if (metrics.get(family) !== this.#before[i].get(family)) this.changed.add(family)
      }
    }
  }
}

function judge(fault, { calls, charged, hasRecovered, endedMs, changed, processes }) {
  const answered = calls.filter(({ how }) => how !== 'none')
  const within = (ms) => answered.filter(({ startMs, endMs }) => endMs - startMs <= ms).length / calls.length
  const counted = calls.filter(({ isCounted }) => isCounted)
  const checked = calls.filter(({ isCounted, allowed }) => !isCounted && allowed)
  const ofStore = counted.filter(({ how, allowed }) => how === 'store' && allowed)
  const bad = calls.filter(({ how, endMs }) => how !== 'store' && endMs > endedMs)
  const seen = {
    calls: calls.length,
    within20: within(20),
    within100: within(100),
    unanswered: calls.length - answered.length,
    alone: answered.filter(({ how }) => how === 'fallback').length,
    admitted: checked.length,
    admittedByStore: checked.filter(({ how }) => how === 'store').length,
    // A call without an answer of the store may have been charged, once.
    chargedTwice: Math.max(0, charged - counted.length),
    lost: Math.max(0, ofStore.length - charged),
    healedMs: hasRecovered ? Math.max(0, ...bad.map(({ endMs }) => endMs - endedMs)) : Number.POSITIVE_INFINITY,
    changed: [...changed].sort(),
  }
  const most = LIMIT * (1 + processes)
  const pair = fault.forgets ? undefined : contradiction(ofStore)
  const failures = [
    hasRecovered ? '' : 'not every node decides by the store again',
    seen.admitted > most ? `${seen.admitted} admitted, at most ${most} expected` : '',
    fault.forgets || seen.admittedByStore <= LIMIT ? '' : `Redis admitted ${seen.admittedByStore} of ${LIMIT}`,
    seen.chargedTwice > 0 ? `${seen.chargedTwice} hits charged twice` : '',
    seen.lost > 0 && !fault.forgets ? `${seen.lost} hits that were admitted are not charged` : '',
    fault.shows === undefined || changed.has(fault.shows) ? '' : `${fault.shows} did not change`,
    pair ? `no order of these two decisions explains what they were left with: ${JSON.stringify(pair)}` : '',
  ].filter((each) => each !== '')
  return { fault, ...seen, failures }
}
