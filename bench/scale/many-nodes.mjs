import { setTimeout as pause } from 'node:timers/promises'
import { eventualLifeMs, overAdmission } from '../../dist/core/over-admission.js'
import { count, table } from '../report.mjs'
import { measureRounds } from '../rounds.mjs'
import { failuresLine, isQuick, KINDS, ms, percent, say, signed, startWorker } from './measure.mjs'
import { chargesOf, openRedis } from './nodes.mjs'
import { inLast, inLastWindow, mostOver } from './over.mjs'

export const LIMIT = 500
export const WINDOW_MS = 1_000
export const FLEETS = isQuick ? [4] : [1, 4, 16]
export const PHASE_MS = isQuick ? 1_000 : 4_000
const PROCESSES = 4
const SYNC_MS = 100
/**
 * The bound of eventual counting is for answers that come within half of an interval. Others fail, and are not
 * admitted.
 */
const TIMEOUT_MS = SYNC_MS / 2
const START_MS = 200
const SPEND_MS = isQuick ? 800 : 1_500
const MAX_MS = 30_000
const RULES = [
  { algorithm: 'sliding_window' },
  { algorithm: 'sliding_window', sub_windows: 10 },
  { algorithm: 'token_bucket' },
  { algorithm: 'fixed_window' },
]

/** Makes one counter, which all nodes share, for each rule and each way to count. */
const streamsOf = (kinds, prefix = '') =>
  RULES.flatMap(({ algorithm, sub_windows }) =>
    kinds.map((kind) => ({
      title: sub_windows === undefined ? algorithm : `${algorithm}, sub_windows: ${sub_windows}`,
      kind,
      name: `${prefix}${algorithm}${sub_windows ?? ''}_${kind}`,
      rule: {
        algorithm,
        ...(sub_windows && { sub_windows }),
        requests_per_unit: LIMIT,
        window: `${WINDOW_MS}ms`,
        consistency: kind,
        timeout_ms: TIMEOUT_MS,
      },
    })),
  )

/** The traffic: three times the limit, evenly; below the limit; three times the limit, most of it on one node. */
function phasesOf(nodes) {
  const perSecond = (1000 * LIMIT) / WINDOW_MS
  const even = (total) => Array.from({ length: nodes }, () => total / nodes)
  const skewed = even(0).map((_, node) => (node === 0 ? 2.1 * perSecond : (0.9 * perSecond) / (nodes - 1)))
  return [
    { ms: PHASE_MS, perSecond: even(3 * perSecond) },
    { ms: PHASE_MS, perSecond: even(0.8 * perSecond) },
    { ms: PHASE_MS, perSecond: skewed },
  ]
}
const BELOW = 1

/** Lets a fleet count on shared counters, in all ways at the same time, and adds up what its processes admitted. */
async function runFleet(server, nodes) {
  await server.call('FLUSHALL')
  const streams = streamsOf(KINDS)
  const processes = Math.min(nodes, PROCESSES)
  const task = { task: 'fleet', url: server.url, streams, phases: phasesOf(nodes) }
  const children = await Promise.all(
    Array.from({ length: processes }, (_, part) => {
      const own = Array.from({ length: nodes }, (_, node) => node).filter((node) => node % processes === part)
      return startWorker({ ...task, nodes: own })
    }),
  )
  const startAtMs = Date.now() + START_MS
  const parts = await Promise.all(children.map((child) => reportOf(child, startAtMs)))
  const results = streams.map((stream, i) =>
    resultOf(
      stream,
      parts.map(({ logs }) => logs[i]),
      startAtMs,
    ),
  )
  return {
    results,
    bound: boundOf(
      nodes,
      parts.flatMap(({ arrived }) => arrived),
    ),
    longestStallMs: Math.max(...parts.map((part) => part.longestStallMs)),
    voids: voidsOf(results),
  }
}

/** A decision that failed was not counted: without it the others say nothing about a limit. */
function voidsOf(results) {
  return KINDS.flatMap((each) => {
    const failed = results.filter(({ kind }) => kind === each).flatMap(({ failed }) => failed)
    return failed.some((reasons) => Object.keys(reasons).length > 0) ? [failuresLine(each, failed)] : []
  })
}

function reportOf(child, startAtMs) {
  return new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', () => reject(new Error('a node of the fleet ended without a report')))
    child.send({ startAtMs })
  })
}

function resultOf(stream, logs, startAtMs) {
  const sum = (lists) => lists[0].map((_, i) => lists.reduce((total, list) => total + list[i], 0))
  const answered = sum(logs.map((log) => log.answered))
  const asked = sum(logs.map((log) => log.asked))
  const over = mostOver(stream.rule, answered, startAtMs)
  return {
    ...stream,
    admitted: answered,
    total: answered.reduce((total, hits) => total + hits, 0),
    // What is exact was decided on the server, after it was asked and before it was answered: what may show here is
    // that time. What is not was decided here, when it was answered.
    over: stream.kind === 'exact' ? Math.min(over, mostOver(stream.rule, asked, startAtMs)) : over,
    refused: logs.reduce((total, { refused }) => total + refused.reduce((sum, part) => sum + part), 0),
    refusedBelow: logs.reduce((total, { refused }) => total + refused[BELOW], 0),
    failed: logs.map(({ failed }) => failed),
  }
}

/** What eventual nodes may admit over the limit, at the highest rate that one of them got for so long. */
function boundOf(nodes, arrived) {
  const lifeMs = eventualLifeMs(SYNC_MS)
  const most = Math.max(...arrived.map((counts) => Math.max(...inLast(lifeMs, counts))))
  return overAdmission({ capacity: LIMIT }, nodes, SYNC_MS, (1000 * most) / lifeMs)
}

const overOf = ({ over }) => Math.max(0, Math.ceil(over))

/** Runs a fleet until a round is valid, and returns that, if there is one, and all that it tried. */
async function tryFleet(server, nodes) {
  const tried = []
  const measure = async () => {
    tried.push(await runFleet(server, nodes))
    return tried.at(-1)
  }
  const [[valid]] = await measureRounds([nodes], 1, { measure, nameOf: () => `a fleet of ${nodes}` })
  return { valid, tried }
}

/** Returns what fleets admitted in valid rounds, and what any fleet admitted in spite of a promise. */
export async function reportFleets(server) {
  const fleets = {}
  const broken = []
  let worst = 0
  for (const nodes of FLEETS) {
    const { valid, tried } = await tryFleet(server, nodes)
    if (valid !== undefined) {
      fleets[nodes] = valid.results
      reportFleet(nodes, valid)
      // A limit that was never reached was not tested.
      for (const { refused, kind, title } of valid.results)
        if (refused === 0) broken.push(`${kind} ${title}, ${nodes} nodes: nothing was refused`)
    }
    // Promises hold in void rounds too.
    for (const { results, bound: most } of tried) {
      for (const result of results) {
        const bound = result.kind === 'eventual' ? most : 0
        if (result.kind === 'leased') worst = Math.max(worst, overOf(result))
        if (result.kind !== 'exact' && overOf(result) > bound)
          broken.push(
            `${result.kind} ${result.title}, ${nodes} nodes: ${signed(overOf(result))}, where ${signed(bound)} is the most`,
          )
      }
    }
  }
  say(`goal leased admits +0 over the limit: ${signed(worst)}: ${worst === 0 ? 'met' : 'MISSED'}`)
  return { fleets, broken }
}

function reportFleet(nodes, { results, bound, longestStallMs }) {
  const rows = results.map((result) => {
    const exact = results.find(({ kind, title }) => kind === 'exact' && title === result.title)
    const fullest = Math.max(...inLastWindow(result.rule, result.admitted))
    return [
      result.title,
      result.kind,
      count(result.total),
      percent(result.total / exact.total),
      signed(overOf(result)),
      count(fullest),
      count(result.refusedBelow),
    ]
  })
  const processes = Math.min(nodes, PROCESSES)
  const where = `${nodes} ${nodes === 1 ? 'node' : 'nodes'} in ${processes} ${processes === 1 ? 'process' : 'processes'}`
  const head = ['', '', 'admitted', 'of exact', 'over the limit', 'fullest window', 'refused below']
  const title = `Admitted against ${count(LIMIT)} in ${WINDOW_MS} ms: ${where}`
  say(
    title,
    '',
    table(head, rows),
    '',
    `bound of eventual, ${nodes} ${nodes === 1 ? 'node' : 'nodes'}: ${signed(bound)} over the limit`,
    `longest time that a process did not run: ${ms(longestStallMs)} (above 50 ms the machine was too busy for this table)`,
  )
}

// --- what a node that ends takes along ---

/** Ends a node with a signal, and says what it held, and when that was charged and the whole budget back. */
async function end(server, signal) {
  const streams = streamsOf(['leased'], signal)
  const task = { task: 'victim', url: server.url, streams, perSecond: (500 * LIMIT) / WINDOW_MS }
  const child = await startWorker(task)
  const ended = new Promise((resolve) => {
    child.once('exit', resolve)
  })
  const redis = await openRedis(server.url)
  await pause(SPEND_MS)
  child.kill(signal)
  await ended
  const endedAt = performance.now()
  const found = await Promise.all(
    streams.map(({ name, rule }) => watch(redis, chargesOf(1, rule, name)[0][0], endedAt)),
  )
  await redis.close()
  return found
}

/** Looks at a counter until all of its budget is refilled. */
async function watch(redis, { key, limit }, endedAt) {
  const probe = { key, limit, holder: 'probe', spent: 0, confirmed: 0, keep: 0, need: 0, ahead: 0, cost: 1 }
  let held
  let chargedMs
  for (let sequence = 1; ; sequence++) {
    const [[{ remaining }], { free }] = await Promise.all([
      redis.decide([{ key, limit, cost: 0, enforce: true }]),
      redis.exchange({ ...probe, sequence, leaseMs: 1, timeoutMs: MAX_MS }),
    ])
    const elapsedMs = performance.now() - endedAt
    held ??= Math.max(0, remaining - free)
    if (remaining <= free) chargedMs ??= elapsedMs
    if (free === LIMIT) return { held, chargedMs, wholeMs: elapsedMs }
    if (elapsedMs > MAX_MS) throw new Error(`the budget of ${key} was not refilled within ${MAX_MS} ms`)
    await pause(5)
  }
}

export async function reportEnds(server) {
  const [killed, drained] = await Promise.all([end(server, 'SIGKILL'), end(server, 'SIGTERM')])
  const rows = streamsOf(['leased']).map(({ title }, i) => [
    title,
    `${count(killed[i].held)} (${percent(killed[i].held / LIMIT)})`,
    ms(killed[i].chargedMs),
    ms(killed[i].wholeMs),
    count(drained[i].held),
    ms(drained[i].wholeMs),
  ])
  const head = ['', 'killed: stranded', 'charged after', 'all back after', 'drained: stranded', 'all back after']
  const title = `A node that ends while it spends half of the limit, ${count(LIMIT)} in ${WINDOW_MS} ms`
  say(title, '', table(head, rows))
}
