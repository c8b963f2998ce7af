import { setTimeout as pause } from 'node:timers/promises'
import { pinClient, pinServer } from '../grpc/cores.mjs'
import { Load } from '../grpc/load.mjs'
import { quantile } from '../pace.mjs'
import { endpointOf, refusalsOf, voidsAfter, voidsBefore } from './audit.mjs'
import { cpuUs, startBare, startService, stop } from './server-process.mjs'
import { trafficOf } from './traffic.mjs'

// One measurement in a process of its own, with the server in another: prints its result as JSON.

const WARM_UP_MS = 800
const CONNECTIONS = 4

const { service, descriptors, inFlight, ms, latencyMs, reached } = JSON.parse(process.argv[2])

/** during measures what happens in `ms`: answers, and the processor time of the server and of this process. */
async function during(server, load) {
  await pause(WARM_UP_MS)
  const [serverUs, own, answers, startAt] = [cpuUs(server), process.cpuUsage(), load.answers, performance.now()]
  const before = { ...codes }
  await pause(ms)
  const [done, took] = [load.answers - answers, performance.now() - startAt]
  const used = cpuUs(server) - serverUs
  const { user, system } = process.cpuUsage(own)
  return {
    perSecond: (1000 * done) / took,
    cpuUs: used / done,
    serverBusy: used / 1000 / took,
    clientBusy: (user + system) / 1000 / took,
    refusals: refusalsSince(before, took),
  }
}

function refusalsSince(before, took) {
  if (reached === undefined) return { voids: [] }
  return refusalsOf({ ok: codes.ok - before.ok, over: codes.over - before.over, ms: took }, reached)
}

/** latencyOf measures the time of an answer at a rate, arrivals on a fixed schedule. */
async function latencyOf(load, perSecond) {
  await load.scheduled(perSecond, WARM_UP_MS)
  const [before, startAt] = [{ ...codes }, performance.now()]
  const { times, late } = await load.scheduled(perSecond, latencyMs)
  const refusals = refusalsSince(before, performance.now() - startAt)
  return { perSecond, p50: quantile(times, 0.5), p99: quantile(times, 0.99), lateP99: quantile(late, 0.99), refusals }
}

if (service?.redis !== undefined) await endpointOf(service.redis).call('FLUSHALL')
const server = service === undefined ? await startBare() : await startService(service)
// With several workers the system places them; with one, it has a core of its own, as the bare server has.
if ((service?.workers ?? 1) === 1) {
  pinServer(server.child.pid)
  pinClient(process.pid)
}
const { codes, traffic } = trafficOf(descriptors, {
  callers: reached?.callers,
  isChecked: service !== undefined,
  isLimited: reached !== undefined,
})
const load = await Load.open(server.port, CONNECTIONS, traffic)
const result = await load.closed(inFlight / CONNECTIONS, () => during(server, load))
const latency = await latencyOf(load, reached?.perSecond ?? result.perSecond / 2)
const voids = [...(await voidsBefore(server, load)), ...result.refusals.voids, ...latency.refusals.voids]
load.close()
await stop(server)
if (service?.redis !== undefined && reached === undefined)
  voids.push(...(await voidsAfter(service.redis, codes.ok * descriptors)))
process.stdout.write(JSON.stringify({ ...result, latency, voids }), () => process.exit(0))
