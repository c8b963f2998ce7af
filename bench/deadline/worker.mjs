import { rateLimit } from 'sluice'
import { paced } from '../pace.mjs'

// An app that asks one limit in Redis on a fixed schedule. Its task is its argument; what each decision became is its
// answer.

const { url, name, limit, timeoutMs, perSecond, total } = JSON.parse(process.argv[2])
/** Above this many in flight arrivals wait, and that counts. */
const MOST_IN_FLIGHT = 4_096

const timeout = timeoutMs === undefined ? {} : { redisTimeoutMs: timeoutMs }
const limiter = rateLimit({
  limit,
  window: '1d',
  algorithm: 'fixed_window',
  name,
  redis: url,
  log: () => {},
  ...timeout,
})
// The limit is asked about another key until the code is warm.
const warmUp = async () => {
  for (let n = 0; n < 300; n++) await Promise.all([1, 2, 3, 4].map(() => limiter.check('warm up')))
}
await warmUp()
process.send('ready')
await new Promise((resolve) => process.once('message', resolve))

const outcomes = { counted: 0, refused: 0, admittedLocally: 0, refusedLocally: 0, failed: 0 }
const times = new Float64Array(total)
let ended = 0
let allEnded = () => {}
const done = new Promise((resolve) => {
  allEnded = resolve
})
let inFlight = 0
const end = (outcome, n, dueAt) => {
  outcomes[outcome]++
  times[n] = performance.now() - dueAt
  inFlight--
  if (++ended === total) allEnded()
}
await paced(perSecond, total, {
  begin(n, dueAt) {
    if (inFlight >= MOST_IN_FLIGHT) return false
    inFlight++
    limiter.check('the caller').then(
      ({ allowed, fallback }) => {
        if (fallback === undefined) end(allowed ? 'counted' : 'refused', n, dueAt)
        else end(allowed ? 'admittedLocally' : 'refusedLocally', n, dueAt)
      },
      () => end('failed', n, dueAt),
    )
    return true
  },
})
await done
process.send({ outcomes, times: [...times] }, () => process.exit())
