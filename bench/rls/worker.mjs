import { setTimeout as pause } from 'node:timers/promises'
import { pinClient, pinServer } from '../grpc/cores.mjs'
import { Load } from '../grpc/load.mjs'
import { cpuUs, startBare, startService, stop } from './server-process.mjs'
import { trafficOf } from './traffic.mjs'

// One measurement in a process of its own, with the server in another: prints its result as JSON.

const WARM_UP_MS = 800
const CONNECTIONS = 4

const { service, descriptors, inFlight, ms, latencyMs } = JSON.parse(process.argv[2])

/** during measures what happens in `ms`: answers, and the processor time of the server and of this process. */
async function during(server, load) {
  await pause(WARM_UP_MS)
  const [serverUs, own, answers, startAt] = [cpuUs(server), process.cpuUsage(), load.answers, performance.now()]
  await pause(ms)
  const [done, took] = [load.answers - answers, performance.now() - startAt]
  const used = cpuUs(server) - serverUs
  const { user, system } = process.cpuUsage(own)
  return {
    perSecond: (1000 * done) / took,
    cpuUs: used / done,
    serverBusy: used / 1000 / took,
    clientBusy: (user + system) / 1000 / took,
  }
}

/** latencyOf measures the time of an answer at half of a rate, arrivals on a fixed schedule. */
async function latencyOf(load, perSecond) {
  await load.scheduled(perSecond, WARM_UP_MS)
  const times = await load.scheduled(perSecond, latencyMs)
  const part = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))]
  return { perSecond, p50: part(0.5), p99: part(0.99) }
}

const server = service === undefined ? await startBare() : await startService(service)
// With several workers the system places them; with one, it has a core of its own, as the bare server has.
if ((service?.workers ?? 1) === 1) {
  pinServer(server.child.pid)
  pinClient(process.pid)
}
const load = await Load.open(server.port, CONNECTIONS, trafficOf(descriptors, service !== undefined))
const result = await load.closed(inFlight / CONNECTIONS, () => during(server, load))
const latency = await latencyOf(load, result.perSecond / 2)
const { failures } = load
load.close()
await stop(server)
process.stdout.write(JSON.stringify({ ...result, latency, failures }))
