import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CLASSES, routesText } from './overload/classes.mjs'
import { drawn } from './overload/drawn.mjs'
import { claimsOf, judge } from './overload/judge.mjs'
import { count, header, table } from './report.mjs'

// npm run bench -- overload [--quick] [--draw]: `sluice gateway` before an upstream that is offered half of its
// capacity, then four times as much as it can serve, then half again; with adaptive concurrency, and without. It fails
// where a promise of the first run is broken. --draw writes docs/images/overload.svg.

const isQuick = process.argv.includes('--quick')
const WORKERS = 20
const SERVICE_MS = 100
const CAPACITY = (1_000 * WORKERS) / SERVICE_MS
const WARM_UP = 3
const CALM = isQuick ? 4 : 15
const OVERLOAD = isQuick ? 6 : 30
const MOST_RECOVERY_MS = 3_000
/** A load that is sent later than this is not the load that was asked for. */
const MOST_LATE_MS = 50
const TRIES = isQuick ? 1 : 3

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sluice-overload-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const edges = [WARM_UP, WARM_UP + CALM, WARM_UP + CALM + OVERLOAD, WARM_UP + 2 * CALM + OVERLOAD].map((s) => 1_000 * s)
const PHASES = { calm: [edges[0], edges[1]], overload: [edges[1], edges[2]], after: [edges[2], edges[3]] }
const LOAD = [
  { seconds: WARM_UP + CALM, perSecond: CAPACITY / 2 },
  { seconds: OVERLOAD, perSecond: 4 * CAPACITY },
  { seconds: CALM, perSecond: CAPACITY / 2 },
]

/** Runs `sluice gateway` as an operator does, and returns its port. */
async function startGateway(routes) {
  const main = here('../server/bin/sluice.mjs')
  const args = [main, 'gateway', '--routes', routes, '--host', '127.0.0.1', '--port', '0', '--admin-port', '0']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  process.on('exit', () => child.kill())
  let said = ''
  for await (const piece of child.stdout) {
    said += piece
    const found = /"?gateway"?[^\n]*?127\.0\.0\.1:(\d+)/.exec(said)
    if (found !== null) {
      child.stdout.resume()
      return { port: Number(found[1]), stop: () => child.kill() }
    }
  }
  throw new Error(`the gateway did not start:\n${said}`)
}

async function measure(isAdaptive) {
  const upstream = fork(here('./overload/upstream.mjs'), [`${WORKERS}`, `${SERVICE_MS}`])
  const [{ port }] = await once(upstream, 'message')
  const routes = join(folder, 'routes.yaml')
  writeFileSync(routes, routesText(port, isAdaptive))
  const gateway = await startGateway(routes)
  const load = fork(here('./overload/load.mjs'), [`${gateway.port}`, JSON.stringify(LOAD)])
  const [{ records, mostLateMs }] = await once(load, 'message')
  gateway.stop()
  upstream.kill()
  return { mostLateMs, ...judge(records, PHASES) }
}

/** The first run whose load was what was asked for. Where there is none, it is the last, and no figure. */
async function measured(isAdaptive) {
  for (let tries = 1; ; tries++) {
    const run = await measure(isAdaptive)
    if (run.mostLateMs <= MOST_LATE_MS) return run
    console.log(`void: the load was late by ${run.mostLateMs.toFixed(0)} ms, try ${tries} of ${TRIES}`)
    if (tries < TRIES) continue
    console.log(`FAILED: no valid run ${isAdaptive ? 'with' : 'without'} adaptive concurrency`)
    process.exitCode = 1
    return run
  }
}

const percent = (share) => `${(100 * share).toFixed(1)} %`
const time = (ms) => (Number.isNaN(ms) ? '' : `${ms.toFixed(0)} ms`)

console.log(header(`npm run bench -- overload${isQuick ? ' --quick' : ''}`, ['sluice']))
console.log(`upstream  ${WORKERS} workers, ${SERVICE_MS} ms a request: ${CAPACITY} a second`)
console.log(
  `load      ${CAPACITY / 2} a second for ${CALM} s, ${4 * CAPACITY} for ${OVERLOAD} s, ${CAPACITY / 2} for ${CALM} s\n`,
)

const shed = await measured(true)
const bare = await measured(false)
const head = ['class', 'unloaded p99', 'offered', 'served', 'p50', 'p99', 'without: served', 'p50', 'p99']
const rows = CLASSES.map(({ name }, i) => [
  name,
  time(shed.before[i].p99),
  `${count(shed.during[i].offered / OVERLOAD)}/s`,
  percent(shed.during[i].served),
  time(shed.during[i].p50),
  time(shed.during[i].p99),
  percent(bare.during[i].served),
  time(bare.during[i].p50),
  time(bare.during[i].p99),
])
console.log(table(head, rows))
const served = (run) => run.during.reduce((sum, each) => sum + each.count, 0) / OVERLOAD / CAPACITY
console.log(
  `\nof the capacity: ${percent(served(shed))} used for answers that arrived; without: ${percent(served(bare))}`,
)
console.log(`recovery: ${(shed.recoveryMs / 1_000).toFixed(1)} s; without: ${(bare.recoveryMs / 1_000).toFixed(1)} s`)
console.log(`the load was late by ${shed.mostLateMs.toFixed(0)} and ${bare.mostLateMs.toFixed(0)} ms at most\n`)

const claims = claimsOf(shed, { mostRecoveryMs: MOST_RECOVERY_MS })
for (const [what, found, isSo] of claims) console.log(`${isSo ? 'met   ' : 'MISSED'} ${what}: ${found}`)
if (claims.some(([, , isSo]) => !isSo)) process.exitCode = 1

if (process.argv.includes('--draw')) {
  const images = new URL('../docs/images/', import.meta.url)
  mkdirSync(images, { recursive: true })
  const plan = { totalMs: edges[3], overload: PHASES.overload, capacity: CAPACITY }
  writeFileSync(new URL('overload.svg', images), drawn(shed, bare, plan))
}
process.exit()
