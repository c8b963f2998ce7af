import { PerformanceObserver } from 'node:perf_hooks'
import { startRedis } from '../../tests/servers/redis.mjs'
import { cpuUsOf, usedByCommands } from '../redis-audit.mjs'
import { CALLERS, contestants } from './contestants.mjs'

// One contestant in a separate process, with a fresh Redis: prints its result as JSON. It has a new space in which all
// garbage of a measurement has room, so that what it holds in the end is what was made.

const { contestant, decisions, warmUp } = JSON.parse(process.argv[2])

async function run(decide, times) {
  for (let i = 0; i < times; i++) await decide(i % CALLERS)
}

const redis = await startRedis()
const { decide, counted, commands } = await contestants[contestant](redis)
await run(decide, warmUp)
let collections = 0
const observer = new PerformanceObserver((list) => {
  collections += list.getEntries().length
})
globalThis.gc()
// Garbage collections before now are reported in a later turn.
await new Promise((resolve) => setTimeout(resolve, 50))
observer.observe({ entryTypes: ['gc'] })
const [redisUs, commandUs] = [await cpuUsOf(redis), await usedByCommands(redis, commands)]
const [memory, usage, startAt] = [process.memoryUsage(), process.cpuUsage(), performance.now()]
await run(decide, decisions)
const [wallMs, { user, system }, after] = [performance.now() - startAt, process.cpuUsage(usage), process.memoryUsage()]
const result = {
  garbageBytes: (after.heapUsed - memory.heapUsed) / decisions,
  externalBytes: (after.external - memory.external) / decisions,
  nodeUs: (user + system) / decisions,
  wallUs: (1000 * wallMs) / decisions,
  redisUs: ((await cpuUsOf(redis)) - redisUs) / decisions,
  commandUs: ((await usedByCommands(redis, commands)) - commandUs) / decisions,
}
await new Promise((resolve) => setTimeout(resolve, 50))
collections += observer.takeRecords().length
const voids = collections > 0 ? [`garbage was collected ${collections} times while it was counted`] : []
const charged = await counted()
if (charged !== warmUp + decisions) voids.push(`${warmUp + decisions} were decided, but Redis counted ${charged}`)
await redis.stop()
process.stdout.write(JSON.stringify({ ...result, voids }), () => process.exit(0))
