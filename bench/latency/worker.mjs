import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { startRedis } from '../../tests/servers/redis.mjs'
import { quantile } from '../pace.mjs'
import { cpuUsOf } from '../redis-audit.mjs'
import { loops } from './loops.mjs'
import { openBare, openReference } from './others.mjs'
import { openService } from './service.mjs'

// One case in a separate process, with a fresh Redis and, for a service, the service in others: prints its result as
// JSON.

const { contestant, rates, ms, warmUp } = JSON.parse(process.argv[2])

function open({ loop, bare, reference, ...service }) {
  if (loop !== undefined) return loops[loop](redis)
  if (bare) return openBare(redis)
  return reference === undefined ? openService(service, redis) : openReference(reference, redis)
}

const STEAL = 7
/** What all processors of this machine spent so far, and what of it the host gave to others: Linux only, else none. */
function ticksOf() {
  if (process.platform !== 'linux') return { all: Number.NaN, stolen: Number.NaN }
  const [line] = readFileSync('/proc/stat', 'utf8').split('\n')
  // guest and guest_nice, at the end, are part of user and nice.
  const ticks = line
    .split(/\s+/)
    .slice(1, STEAL + 2)
    .map(Number)
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[STEAL] }
}

/** One rate: times from when a call was due, and what server, Redis and client did meanwhile. */
async function measured(target, redis, { perSecond, ms: duration }) {
  await target.watched()
  const [redisUs, own, ticks] = [await cpuUsOf(redis), process.cpuUsage(), ticksOf()]
  const startAt = performance.now()
  const { times, late } = await target.scheduled(perSecond, duration)
  const took = performance.now() - startAt
  const { user, system } = process.cpuUsage(own)
  const { all, stolen } = ticksOf()
  const { cpuUs, ...server } = await target.watched()
  const calls = times.length
  return {
    ...server,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    p999: quantile(times, 0.999),
    lateP50: quantile(late, 0.5),
    lateP99: quantile(late, 0.99),
    perSecond: (1000 * calls) / took,
    serverUs: cpuUs / calls,
    redisUs: ((await cpuUsOf(redis)) - redisUs) / calls,
    stolen: (stolen - ticks.stolen) / (all - ticks.all),
    clientBusy: (user + system) / 1000 / took,
  }
}

const redis = await startRedis()
const target = await open(contestant)
await target.scheduled(warmUp.perSecond, warmUp.ms)
const results = {}
for (const perSecond of rates) {
  await pause(100)
  results[perSecond] = await measured(target, redis, { perSecond, ms })
}
const voids = await target.end()
await redis.stop()
process.stdout.write(JSON.stringify({ rates: results, voids }), () => process.exit(0))
