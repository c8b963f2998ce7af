import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '../tests/servers/redis.mjs'
import { CALLERS, NODE_FLAGS } from './latency/callers.mjs'
import { count, header, median, table } from './report.mjs'
import { measureRounds } from './rounds.mjs'

// npm run bench -- latency [--quick] [--rates=N,…] [--reference=FILE]: how long a decision takes when a service is not
// busy. Whole decisions over gRPC by `sluice serve` with one worker, arrivals on a fixed schedule, compared with a bare
// service of the same kind; and decisions of the library compared with plain loops that anyone can run. FILE is a
// binary of envoyproxy/ratelimit. A round in which a decision was made without Redis, or was not counted there, is
// void.

const RATES_FLAG = '--rates='
const rates = process.argv.find((each) => each.startsWith(RATES_FLAG))?.slice(RATES_FLAG.length)
const RATES = rates?.split(',').map(Number) ?? [500, 2_000, 10_000, 50_000]
const GOALS_MS = { 2000: 1.2, 10000: 3 }
/** The reference does not reach more than this many a second on two cores that it shares with Redis and the client. */
const MOST_OF_REFERENCE = 10_000
const REFERENCE_RATES = RATES.filter((rate) => rate <= MOST_OF_REFERENCE)

const isQuick = process.argv.includes('--quick')
const { rounds, ms, warmUp } = isQuick
  ? { rounds: 1, ms: 1_000, warmUp: { perSecond: 10_000, ms: 1_000 } }
  : { rounds: 3, ms: 5_000, warmUp: { perSecond: 10_000, ms: 10_000 } }
const REFERENCE_FLAG = '--reference='
const reference = process.argv.find((each) => each.startsWith(REFERENCE_FLAG))?.slice(REFERENCE_FLAG.length)

const EXACT = 'Redis, exact'
const LEASED = 'Redis, leased'
const BARE = 'bare service'
const LIBRARY = 'library, Redis'
const OWN_LOOP = 'plain loop, own connection'
const REFERENCE = 'envoyproxy/ratelimit'
const CASES = [
  { name: EXACT, contestant: { store: 'redis', consistency: 'exact' } },
  { name: LEASED, contestant: { store: 'redis', consistency: 'leased' } },
  { name: 'memory', contestant: { store: 'memory', consistency: 'exact' } },
  { name: BARE, contestant: { bare: true } },
  { name: LIBRARY, contestant: { loop: 'library' } },
  { name: OWN_LOOP, contestant: { loop: 'own' } },
  { name: 'plain loop, @redis/client', contestant: { loop: 'client' } },
  ...(reference === undefined ? [] : [{ name: REFERENCE, contestant: { reference }, rates: REFERENCE_RATES }]),
]

const worker = fileURLToPath(new URL('./latency/worker.mjs', import.meta.url))
const say = (...lines) => console.log(`${lines.join('\n')}\n`)
/** A value that a process cannot report is left empty. */
const shown = (value, text) => (Number.isNaN(value) ? '' : text(value))
const milliseconds = (value) => shown(value, () => `${value.toFixed(2)} ms`)
const us = (value) => shown(value, () => `${value.toFixed(1)} µs`)
const percent = (share) => shown(share, () => `${(100 * share).toFixed(0)} %`)
const whole = (value) => shown(value, () => value.toFixed(0))
const verdict = (isMet) => (isMet ? 'met' : 'missed')

async function measure({ contestant, rates: own = RATES }) {
  const task = { contestant, rates: own, ms, warmUp }
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, worker, JSON.stringify(task)])
  return JSON.parse(stdout)
}

function report(runs) {
  const all = (i, rate, field) => runs[i].map((run) => run.rates[rate][field] ?? Number.NaN)
  const middle = (i, rate, field) => median(all(i, rate, field))
  const range = (i, rate, field) =>
    `${milliseconds(Math.min(...all(i, rate, field)))} to ${milliseconds(Math.max(...all(i, rate, field)))}`
  for (const rate of RATES) {
    const measured = CASES.map(({ name, rates = RATES }, i) => ({ name, rates, i })).filter(({ rates }) =>
      rates.includes(rate),
    )
    const times = measured.map(({ name, i }) => [
      name,
      count(middle(i, rate, 'perSecond')),
      milliseconds(middle(i, rate, 'p50')),
      milliseconds(middle(i, rate, 'p99')),
      range(i, rate, 'p99'),
      milliseconds(middle(i, rate, 'p999')),
      milliseconds(middle(i, rate, 'lateP50')),
      milliseconds(middle(i, rate, 'lateP99')),
      shown(middle(i, rate, 'stolen'), (share) => `${(100 * share).toFixed(1)} %`),
    ])
    const head = ['', 'per second', '50 %', '99 %', '99 %, rounds', '99.9 %', 'client late, 50 %', '99 %', 'stolen']
    say(`${count(rate)} calls a second: time from when a call was due`, '', table(head, times))
    const costs = measured.map(({ name, i }) => [
      name,
      us(middle(i, rate, 'serverUs')),
      us(middle(i, rate, 'redisUs')),
      percent(middle(i, rate, 'idle')),
      whole(middle(i, rate, 'gcCount')),
      milliseconds(middle(i, rate, 'gcMs')),
      milliseconds(middle(i, rate, 'gcLongestMs')),
      milliseconds(middle(i, rate, 'delayP99Ms')),
      milliseconds(middle(i, rate, 'delayLongestMs')),
      percent(middle(i, rate, 'clientBusy')),
    ])
    const what = [
      '',
      'CPU',
      'Redis CPU',
      'idle',
      'GC',
      'GC in all',
      'longest',
      'loop late, 99 %',
      'longest',
      'client busy',
    ]
    say(`${count(rate)} calls a second: what the process did that decides`, '', table(what, costs))
  }
  reportGoals((name, rate) =>
    middle(
      CASES.findIndex((each) => each.name === name),
      rate,
      'p99',
    ),
  )
}

function reportGoals(p99Of) {
  const goals = [EXACT, LEASED].flatMap((name) =>
    Object.entries(GOALS_MS)
      .filter(([rate]) => RATES.includes(Number(rate)))
      .map(([rate, goal]) => {
        const value = p99Of(name, rate)
        return `goal p99, ${name}, ${count(rate)}/s, ${milliseconds(value)} (≤ ${goal} ms): ${verdict(value <= goal)}`
      }),
  )
  const pairs = [
    [EXACT, BARE, RATES],
    [LIBRARY, OWN_LOOP, RATES],
    [EXACT, OWN_LOOP, RATES],
    [LEASED, EXACT, RATES],
    ...(reference === undefined ? [] : [[EXACT, REFERENCE, REFERENCE_RATES]]),
  ]
  const compared = pairs.flatMap(([name, other, rates]) =>
    rates.map((rate) => {
      const [own, theirs] = [p99Of(name, rate), p99Of(other, rate)]
      const values = `${milliseconds(own)} of ${milliseconds(theirs)}, ${(own / theirs).toFixed(2)} ×`
      return `goal p99, ${name}, no worse than ${other}, ${count(rate)}/s, ${values}: ${verdict(own <= theirs)}`
    }),
  )
  say(...goals, ...compared)
}

const startedAt = Date.now()
const probe = await startRedis()
say(
  header(
    `npm run bench -- latency${isQuick ? ' --quick' : ''}${rates === undefined ? '' : ` ${RATES_FLAG}${rates}`}${reference === undefined ? '' : ` ${REFERENCE_FLAG}FILE`}`,
    ['sluice', '@redis/client'],
  ),
  `redis     ${await probe.field('redis_version', 'INFO', 'server')}, on loopback, a fresh one for each case and round`,
  'cores     shared, placed by the system. The client sleeps between arrivals; a loop is client and decider in one',
  `node      ${NODE_FLAGS.join(' ')}, in every process`,
  `callers   ${count(CALLERS)}, each with a separate counter; daily limits that are never reached`,
)
await probe.stop()
report(await measureRounds(CASES, rounds, { measure, nameOf: ({ name }) => name }))
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
