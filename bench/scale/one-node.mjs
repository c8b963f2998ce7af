import { count, median, ratioLine, spread, table } from '../report.mjs'
import { isQuick, KINDS, measureAll, middle, ms, percent, say, us } from './measure.mjs'

const CONTESTANTS = isQuick ? KINDS : ['every time', ...KINDS]
const HOT = 'one hot key'
const FAR = '1,000 callers'
const HALF = '1,000 callers, half refused'
const TWICE = '1,000 callers at twice their limit'
const TEN_TIMES = '200 callers at ten times their limit'
const WORKLOADS = [HOT, FAR, HALF]
const TIMED = isQuick ? [FAR] : WORKLOADS
/** What callers at twice and at ten times their limit send together: half and a tenth of it fits. */
const OVER_PER_SECOND = 20_000

export const BUSY = 128
const LEVELS = isQuick ? [BUSY] : [BUSY, 512]
const ROUNDS = isQuick ? 1 : 3
/** Long enough for callers to have come often enough for a slice. */
const WARM_UP_MS = isQuick ? 300 : 1_000
const MEASURE_MS = isQuick ? 200 : 1_000
const LATENCY_MS = isQuick ? 300 : 1_200
const RATE_GOAL = 3

const WHAT = {
  [TWICE]: '10 of 20 a second each fit: 50 % are due to be refused',
  [TEN_TIMES]: '10 of 100 a second each fit: 90 % are due to be refused',
}

const COSTS_HEAD = ['refused', 'waited', 'exchanges', 'calls', 'Redis CPU', 'Node CPU']
const COSTS_NOTE =
  'waited: of the decisions, for Redis; exchanges (of slices) and calls (of scripts, and notices): for 1,000 decisions'

const costsOf = (runs) => [
  percent(middle(runs, 'refused')),
  percent(middle(runs, 'asked')),
  (1000 * middle(runs, 'exchanges')).toFixed(2),
  (1000 * middle(runs, 'calls')).toFixed(2),
  us(middle(runs, 'redisUs')),
  us(middle(runs, 'nodeUs')),
]

/** Measures how many decisions one process makes, with a fixed number in flight. */
export async function reportRates(url) {
  const task = { task: 'rates', url, workloads: WORKLOADS, levels: LEVELS, ms: MEASURE_MS, warmUpMs: WARM_UP_MS }
  const results = await measureAll(
    CONTESTANTS.map((kind) => ({ ...task, kind })),
    ROUNDS,
  )
  const runsOf = (kind, workload, level) => results[CONTESTANTS.indexOf(kind)].map((round) => round[workload][level])
  for (const workload of WORKLOADS) {
    const rows = LEVELS.flatMap((level) =>
      CONTESTANTS.map((kind) => {
        const runs = runsOf(kind, workload, level)
        const rates = runs.map(({ perSecond }) => perSecond)
        return [kind, level, count(median(rates)), `± ${spread(rates).toFixed(0)} %`, ...costsOf(runs)]
      }),
    )
    const head = ['', 'in flight', 'per second', 'spread', ...COSTS_HEAD]
    say(`Decisions of one process: ${workload}`, '', table(head, rows))
  }
  say(COSTS_NOTE)
  reportRatios((kind, workload, level) => middle(runsOf(kind, workload, level), 'perSecond'))
  const ratesOf = (workload) => (kind) => {
    const runs = runsOf(kind, workload, BUSY)
    return [kind, { perSecond: middle(runs, 'perSecond'), asked: middle(runs, 'asked') }]
  }
  return Object.fromEntries(WORKLOADS.map((workload) => [workload, Object.fromEntries(KINDS.map(ratesOf(workload)))]))
}

/** Compares with exact counting, and exact counting with a store that has nothing in memory. */
function reportRatios(rateOf) {
  const pairs = [
    ['leased', 'exact', RATE_GOAL],
    ['eventual', 'exact'],
    ['exact', 'every time'],
  ].filter(([, other]) => CONTESTANTS.includes(other))
  const lines = WORKLOADS.flatMap((workload) =>
    LEVELS.flatMap((level) =>
      pairs.map(([one, other, goal]) => {
        const ratio = rateOf(one, workload, level) / rateOf(other, workload, level)
        return ratioLine(`decisions per second, ${one} / ${other}, ${workload}, ${level} in flight`, ratio, goal)
      }),
    ),
  )
  say(...lines)
}

/** Lets the same arrivals come to all: half of what exact counting made, and callers at twice their limit. */
export async function reportTimes(url, rates) {
  const workloads = Object.fromEntries(TIMED.map((workload) => [workload, rates[workload].exact.perSecond / 2]))
  workloads[TWICE] = OVER_PER_SECOND
  workloads[TEN_TIMES] = OVER_PER_SECOND
  const task = { task: 'times', url, workloads, ms: LATENCY_MS, warmUpMs: WARM_UP_MS }
  const results = await measureAll(
    CONTESTANTS.map((kind) => ({ ...task, kind })),
    ROUNDS,
  )
  for (const [workload, perSecond] of Object.entries(workloads)) {
    const rows = CONTESTANTS.map((kind, i) => {
      const runs = results[i].map((round) => round[workload])
      const tails = runs.map(({ p99 }) => p99)
      const range = `${ms(Math.min(...tails))} to ${ms(Math.max(...tails))}`
      return [kind, ms(middle(runs, 'p50')), ms(median(tails)), range, ...costsOf(runs)]
    })
    const what = WHAT[workload] ?? 'half of what exact counting made'
    const title = `Time of a decision: ${workload}, ${count(perSecond)} a second (${what}; on a fixed schedule)`
    say(title, '', table(['', '50 %', '99 %', '99 %, rounds', ...COSTS_HEAD], rows))
  }
}
