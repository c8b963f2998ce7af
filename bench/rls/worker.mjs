import { setTimeout as pause } from 'node:timers/promises'
import { DueRefusals } from '../due-refusals.mjs'
import { pinClient, pinServer } from '../grpc/cores.mjs'
import { Load } from '../grpc/load.mjs'
import { quantile } from '../pace.mjs'
import { endpointOf, voidsAfter, voidsBefore } from './audit.mjs'
import { cpuUs, startBare, startService, stop } from './server-process.mjs'
import { trafficOf } from './traffic.mjs'

// One measurement in a separate process, with the server in another: prints its result as JSON.

const WARM_UP_MS = 800
const CONNECTIONS = 4

const { service, descriptors, inFlight, ms, latencyMs, reached } = JSON.parse(process.argv[2])

/** Measures what happens in `ms`: answers, and the processor time of the server and of this process. */
async function during(server, load) {
  await pause(WARM_UP_MS)
  const [serverUs, own, answers, startAt] = [cpuUs(server), process.cpuUsage(), load.answers, performance.now()]
  const before = { ...codes }
  dueRefusals?.clear()
  await pause(ms)
  const refusals = refusalsSince(before)
  const [done, took] = [load.answers - answers, performance.now() - startAt]
  const used = cpuUs(server) - serverUs
  const { user, system } = process.cpuUsage(own)
  return {
    perSecond: (1000 * done) / took,
    cpuUs: used / done,
    serverBusy: used / 1000 / took,
    clientBusy: (user + system) / 1000 / took,
    refusals,
  }
}

function refusalsSince(before) {
  const [ok, over] = [codes.ok - before.ok, codes.over - before.over]
  return dueRefusals === undefined ? { voids: [] } : dueRefusals.judge(over / (ok + over))
}

/** Measures the time of an answer at a rate, arrivals on a fixed schedule. */
async function latencyOf(load, perSecond) {
  await load.scheduled(perSecond, WARM_UP_MS)
  const before = { ...codes }
  dueRefusals?.clear()
  const { times, late } = await load.scheduled(perSecond, latencyMs)
  const refusals = refusalsSince(before)
  return { perSecond, p50: quantile(times, 0.5), p99: quantile(times, 0.99), lateP99: quantile(late, 0.99), refusals }
}

if (service?.redis !== undefined) await endpointOf(service.redis).call('FLUSHALL')
const server = service === undefined ? await startBare() : await startService(service)
// With several workers the system places them; with one, it has a core to itself, as the bare server has.
if ((service?.workers ?? 1) === 1) {
  pinServer(server.child.pid)
  pinClient(process.pid)
}
const dueRefusals = reached && new DueRefusals(reached.callers * reached.limit)
const { codes, traffic } = trafficOf(descriptors, {
  callers: reached?.callers,
  isChecked: service !== undefined,
  dueRefusals,
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
