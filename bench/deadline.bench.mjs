import { startRedis } from '../tests/servers/redis.mjs'
import { CONDITIONS, runApps } from './deadline/conditions.mjs'
import { quantile } from './pace.mjs'
import { count, header, median, table } from './report.mjs'
import { measureRounds } from './rounds.mjs'

// npm run bench -- deadline [--quick]: what the deadline of a decision costs, in hits above the limit and in time. Two
// apps ask one limit in Redis at twice its budget, while Redis or the machine is well, busy, slow or silent; with 5 ms,
// and with the deadline that adapts. A round in which a decision is not accounted for is void.

const isQuick = process.argv.includes('--quick')
const APPS = 2
const PER_SECOND = 2_000
const { rounds, seconds } = isQuick ? { rounds: 1, seconds: 3 } : { rounds: 3, seconds: 5 }
const total = PER_SECOND * seconds
const limit = (APPS * total) / 2

const DEADLINES = [
  { name: '5 ms', timeoutMs: 5 },
  { name: 'adapts (default)', timeoutMs: undefined },
]
const CASES = CONDITIONS.flatMap((condition) => DEADLINES.map((deadline) => ({ condition, deadline })))

const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const ms = (value) => `${value.toFixed(1)} ms`

async function measure({ condition, deadline }) {
  const redis = await startRedis()
  try {
    const { url, start, end } = await condition.begin(redis)
    const task = { url, name: 'bench', limit, timeoutMs: deadline.timeoutMs, perSecond: PER_SECOND, total }
    try {
      return summaryOf(await runApps(APPS, task, start))
    } finally {
      await end()
    }
  } finally {
    await redis.stop()
  }
}

function summaryOf(apps) {
  const sum = (field) => apps.reduce((all, { outcomes }) => all + outcomes[field], 0)
  const times = Float64Array.from(apps.flatMap(({ times }) => times)).sort()
  const [counted, refused] = [sum('counted'), sum('refused')]
  const [admittedLocally, refusedLocally, failed] = [sum('admittedLocally'), sum('refusedLocally'), sum('failed')]
  const all = counted + refused + admittedLocally + refusedLocally
  const voids = [
    ...(failed === 0 ? [] : [`${failed} decisions failed`]),
    ...(all === APPS * total ? [] : [`${all} decisions of ${APPS * total} are accounted for`]),
    ...(counted <= limit ? [] : [`Redis admitted ${counted} of ${limit}`]),
  ]
  const admitted = counted + admittedLocally
  const over = (100 * (admitted - limit)) / limit
  const p = (share) => quantile(times, share)
  return { voids, admitted, over, local: admittedLocally + refusedLocally, p50: p(0.5), p99: p(0.99), most: p(1) }
}

function report(runs) {
  const rows = CASES.map(({ condition, deadline }, i) => {
    const middle = (field) => median(runs[i].map((run) => run[field]))
    const most = Math.max(...runs[i].map(({ over }) => over))
    return [
      condition.name,
      deadline.name,
      count(middle('admitted')),
      `${middle('over').toFixed(2)} %`,
      `${most.toFixed(2)} %`,
      count(middle('local')),
      ms(middle('p50')),
      ms(middle('p99')),
      ms(middle('most')),
    ]
  })
  const head = ['', 'deadline', 'admitted', 'over the limit', 'worst round', 'without Redis', '50 %', '99 %', 'longest']
  say(table(head, rows))
}

const startedAt = Date.now()
say(
  header(`npm run bench -- deadline${isQuick ? ' --quick' : ''}`, ['sluice']),
  `load      ${APPS} apps, ${count(PER_SECOND)} decisions a second each for ${seconds} s, one key, a limit of ${count(limit)}: half of what is asked`,
  'times     from when a decision was due; the delay of a busy app is in them',
)
report(
  await measureRounds(CASES, rounds, {
    measure,
    nameOf: ({ condition, deadline }) => `${condition.name}, ${deadline.name}`,
    valid: 'in a valid one each decision is accounted for, and Redis admitted no more than the limit',
  }),
)
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
