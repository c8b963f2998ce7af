import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Connection } from './connection.mjs'
import { pinClient, pinServer } from './cores.mjs'
import { Load } from './load.mjs'
import { HOLD, METHOD, REQUEST } from './wire.mjs'

// One measurement in a separate process, with the server in another: prints its result as JSON.

const WARM_UP_ANSWERS = 10_000

const tasks = { load, h2load, connections, streams }
const { task, contestant, cpuProfile, warmUpMs, ...settings } = JSON.parse(process.argv[2])

/** The contestant in its process. */
class Server {
  #child

  static async start() {
    const server = new Server()
    const profiling = cpuProfile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${cpuProfile}`]
    const path = fileURLToPath(new URL('./server.mjs', import.meta.url))
    server.#child = fork(path, [contestant], { execArgv: ['--expose-gc', ...profiling] })
    const [{ port }] = await once(server.#child, 'message')
    server.port = port
    pinServer(server.#child.pid)
    return server
  }

  /** Returns the CPU time and the memory that the server has used; with `collect`, after a garbage collection. */
  async used({ collect = false } = {}) {
    this.#child.send({ collect })
    const [usage] = await once(this.#child, 'message')
    return usage
  }

  async stop() {
    this.#child.disconnect()
    await once(this.#child, 'exit')
  }
}

/** Waits for the compiler: for some time and for some answers, because on a busy machine time says little. */
async function warmUp(countAnswers) {
  const giveUpAt = performance.now() + 10 * warmUpMs
  await pause(warmUpMs)
  while (countAnswers() < WARM_UP_ANSWERS && performance.now() < giveUpAt) await pause(10)
}

/** Measures what happens in `ms`: answers, and the CPU time of the server and of this process. */
async function during(server, countAnswers, ms) {
  await warmUp(countAnswers)
  const [before, own, answers, startAt] = [await server.used(), process.cpuUsage(), countAnswers(), performance.now()]
  await pause(ms)
  const { user, system } = process.cpuUsage(own)
  const [done, took, after] = [countAnswers() - answers, performance.now() - startAt, await server.used()]
  const serverUs = after.cpuUs - before.cpuUs
  return {
    perSecond: (1000 * done) / took,
    cpuUs: serverUs / done,
    serverBusy: serverUs / 1000 / took,
    clientBusy: (user + system) / 1000 / took,
  }
}

/** Measures answers at each of the shapes, and the time of an answer at half of the rate of one of them. */
async function load(server, { shapes, ms, halfOf, latencyMs }) {
  const results = {}
  let failures = 0
  for (const [connections, inFlight] of shapes) {
    const calls = await Load.open(server.port, connections)
    results[connections] = await calls.closed(inFlight, () => during(server, () => calls.answers, ms))
    failures += calls.failures
    calls.close()
  }
  const calls = await Load.open(server.port, halfOf)
  const perSecond = results[halfOf].perSecond / 2
  // Here the client has a core to itself, and Redis does not run.
  const alone = { isSleeping: false }
  await calls.scheduled(perSecond, warmUpMs, alone)
  const before = await server.used()
  const { times } = await calls.scheduled(perSecond, latencyMs, alone)
  const after = await server.used()
  failures += calls.failures
  calls.close()
  const part = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))]
  const cpuUs = (after.cpuUs - before.cpuUs) / times.length
  return { results, failures, latency: { perSecond, cpuUs, p50: part(0.5), p99: part(0.99), p999: part(0.999) } }
}

/** Measures the same shapes with a client that others wrote. */
async function h2load(server, { shapes, seconds, command }) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const body = join(dir, 'request')
  writeFileSync(body, Buffer.concat([Buffer.of(0, 0, 0, 0, REQUEST.length), REQUEST]))
  const results = {}
  let failures = 0
  for (const [connections, inFlight] of shapes) {
    const args = ['-c', connections, '-m', inFlight, '-t', 1, '-D', seconds, '--warm-up-time', 1]
    const headers = ['te: trailers', 'content-type: application/grpc', 'grpc-timeout: 20S'].flatMap((each) => [
      '-H',
      each,
    ])
    const url = `http://127.0.0.1:${server.port}${METHOD}`
    const running = promisify(execFile)(command, [...args, ...headers, '-d', body, url].map(String))
    pinClient(running.child.pid)
    // Its warm-up takes a second, and what comes after has to fit into its measurement.
    await pause(1_100)
    const [before, startAt] = [await server.used(), performance.now()]
    await pause(seconds * 800)
    const [after, took] = [await server.used(), performance.now() - startAt]
    const { stdout } = await running
    const perSecond = Number(/finished in .*, ([\d.]+) req\/s/.exec(stdout)[1])
    failures += Number(/ (\d+) failed/.exec(stdout)[1])
    const serverBusy = (after.cpuUs - before.cpuUs) / 1000 / took
    results[connections] = { perSecond, serverBusy, cpuUs: (serverBusy * 1e6) / perSecond }
  }
  rmSync(dir, { recursive: true })
  return { results, failures }
}

/** Measures what `work` leaves behind in the server, for each of `count`. */
async function memoryOf(server, count, work) {
  const before = await server.used({ collect: true })
  const undo = await work()
  const after = await server.used({ collect: true })
  undo()
  return { count, rss: (after.rss - before.rss) / count, heap: (after.heap - before.heap) / count }
}

/** Opens connections a few at a time: the accept queue is short. */
async function openInTurns(port, count, path = METHOD) {
  const all = []
  while (all.length < count) {
    const some = Array.from({ length: Math.min(100, count - all.length) }, () => Connection.open(port, { path }))
    all.push(...(await Promise.all(some)))
  }
  return all
}

async function answered(all) {
  while (all.some(({ inFlight }) => inFlight > 0)) await pause(5)
}

/** Measures the memory of connections that have made a call and are idle since. */
async function connections(server, { count }) {
  const first = await openInTurns(server.port, 1)
  return memoryOf(server, count, async () => {
    const all = await openInTurns(server.port, count)
    for (const each of all) {
      each.call(0)
      each.flush()
    }
    await answered(all)
    return () => {
      for (const each of [...first, ...all]) each.close()
    }
  })
}

/** Measures the memory of calls that have been read and not been answered. */
async function streams(server, { count, perConnection }) {
  const all = await openInTurns(server.port, count / perConnection, HOLD)
  return memoryOf(server, count, async () => {
    for (const each of all) {
      for (let i = 0; i < perConnection; i++) each.call(0)
      each.flush()
    }
    return () => {
      for (const each of all) each.close()
    }
  })
}

pinClient(process.pid)
const server = await Server.start()
const result = await tasks[task](server, settings)
await server.stop()
process.stdout.write(JSON.stringify(result))
