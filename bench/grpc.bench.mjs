import { execFile, execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findCommand } from '../scripts/system-packages.mjs'
import { arePinned } from './grpc/cores.mjs'
import { count, header, median, ratioLine, spread, table } from './report.mjs'

// npm run bench -- grpc [--quick] [--cpu-prof DIR]: our gRPC server against others, without a store behind them.

const OURS = 'sluice'
const PEER = 'grpc-js'
const NAMES = [OURS, PEER, 'node:http2']
/** Connections, and calls in flight on each. */
const SHAPES = [
  [1, 256],
  [4, 64],
  [64, 4],
]
const HALF_OF = 4
const STREAMS_OF_A_CONNECTION = 100
const RATIO_BUDGET = 5

const isQuick = process.argv.includes('--quick')
const cpuProfile = process.argv.includes('--cpu-prof')
  ? process.argv[process.argv.indexOf('--cpu-prof') + 1]
  : undefined
const size = isQuick
  ? {
      rounds: 1,
      ms: 500,
      latencyMs: 1_000,
      h2loadShapes: SHAPES.slice(1, 2),
      seconds: 1,
      connections: 1_000,
      streams: 2_000,
    }
  : {
      rounds: 3,
      warmUpMs: 500,
      ms: 2_000,
      latencyMs: 4_000,
      h2loadShapes: SHAPES,
      seconds: 2,
      connections: 10_000,
      streams: 10_000,
    }

const worker = fileURLToPath(new URL('./grpc/worker.mjs', import.meta.url))
const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const us = (value) => `${value.toFixed(2)} µs`
const ms = (value) => `${value.toFixed(2)} ms`
const percent = (value) => `${(100 * value).toFixed(0)} %`
const kib = (value) => `${(value / 1024).toFixed(1)} KiB`

async function measure(task) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    worker,
    JSON.stringify({ warmUpMs: size.warmUpMs, ...task }),
  ])
  return JSON.parse(stdout)
}

/** Gives every contestant its turn before one gets its next, so that a noisy moment hits all alike. */
async function measureAll(task) {
  const runs = NAMES.map(() => [])
  for (let round = 0; round < size.rounds; round++) {
    for (let i = 0; i < NAMES.length; i++) {
      const turn = (i + round) % NAMES.length
      const profile = turn === 0 && cpuProfile !== undefined ? { cpuProfile } : {}
      runs[turn].push(await measure({ ...task, ...profile, contestant: NAMES[turn] }))
    }
  }
  return runs
}

const at = (runs, connections, field) => runs.map(({ results }) => results[connections][field])

function loadTable(all, shapes, withClient) {
  const rows = NAMES.flatMap((name, i) =>
    shapes.map(([connections, inFlight]) => {
      const middle = (field) => median(at(all[i], connections, field))
      const rates = at(all[i], connections, 'perSecond')
      const row = [name, connections, inFlight, count(median(rates)), `± ${spread(rates).toFixed(0)} %`]
      row.push(us(middle('cpuUs')), percent(middle('serverBusy')))
      return withClient ? [...row, percent(middle('clientBusy'))] : row
    }),
  )
  const head = ['', 'connections', 'in flight each', 'per second', 'spread', 'CPU per call', 'server busy']
  return table(withClient ? [...head, 'client busy'] : head, rows)
}

const failuresLine = (all) =>
  `calls that failed: ${NAMES.map((name, i) => `${name} ${all[i].reduce((sum, { failures }) => sum + failures, 0)}`).join(', ')}`

/** Compares rates and, because a slow client or a busy machine does not spoil it, the CPU time for a call. */
const ratiosOf = (all, shapes, what) =>
  NAMES.slice(1).flatMap((name, i) =>
    shapes.flatMap(([connections]) => {
      const middle = (runs, field) => median(at(runs, connections, field))
      const where = `${what}, ${connections} connections`
      const rates = middle(all[0], 'perSecond') / middle(all[i + 1], 'perSecond')
      const cpu = middle(all[i + 1], 'cpuUs') / middle(all[0], 'cpuUs')
      return [
        ratioLine(`answers per second, ${OURS} / ${name}, ${where}`, rates, name === PEER ? RATIO_BUDGET : undefined),
        ratioLine(`CPU for a call, ${name} / ${OURS}, ${where}`, cpu),
      ]
    }),
  )

async function reportLoad() {
  const all = await measureAll({
    task: 'load',
    shapes: SHAPES,
    ms: size.ms,
    halfOf: HALF_OF,
    latencyMs: size.latencyMs,
  })
  say('Answers, own client', '', loadTable(all, SHAPES, true), '', failuresLine(all))
  const rows = NAMES.map((name, i) => {
    const middle = (field) => median(all[i].map(({ latency }) => latency[field]))
    return [
      name,
      count(middle('perSecond')),
      ms(middle('p50')),
      ms(middle('p99')),
      ms(middle('p999')),
      us(middle('cpuUs')),
    ]
  })
  const title = `Time of an answer at half of its maximum rate with ${HALF_OF} connections (arrivals on a fixed schedule)`
  say(title, '', table(['', 'per second', '50 %', '99 %', '99.9 %', 'CPU per call'], rows))
  say(...ratiosOf(all, SHAPES, 'own client'))
}

async function reportH2load() {
  const command = findCommand('h2load')
  if (command === undefined) return say('h2load is missing: its table is left out')
  const all = await measureAll({ task: 'h2load', shapes: size.h2loadShapes, seconds: size.seconds, command })
  say(
    'Answers, h2load (where the server is not busy, h2load is what limits)',
    `h2load -c CONNECTIONS -m IN_FLIGHT -t 1 -D ${size.seconds} --warm-up-time 1 -H … -d REQUEST URL`,
    '',
    loadTable(all, size.h2loadShapes, false),
    '',
    failuresLine(all),
  )
  return say(...ratiosOf(all, size.h2loadShapes, 'h2load'))
}

async function reportMemory() {
  const most = mostConnections()
  const connections = Math.min(size.connections, most)
  if (connections < size.connections)
    say(`open files are limited: ${connections} connections instead of ${size.connections}`)
  const rows = []
  for (const contestant of NAMES) {
    const idle = await measure({ task: 'connections', contestant, count: connections })
    const open = await measure({
      task: 'streams',
      contestant,
      count: size.streams,
      perConnection: STREAMS_OF_A_CONNECTION,
    })
    rows.push([contestant, kib(idle.rss), kib(idle.heap), kib(open.rss), kib(open.heap)])
  }
  const head = ['', 'connection, RSS', 'connection, heap', 'call, RSS', 'call, heap']
  say(
    `Memory of ${count(connections)} idle connections (each has made a call), and of ${count(size.streams)} calls in flight`,
    '',
    table(head, rows),
  )
}

/** Returns how many sockets a process may open, less the ones that it needs for itself. */
function mostConnections() {
  const limit = execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  return limit === 'unlimited' ? size.connections : Number(limit) - 200
}

const startedAt = Date.now()
const h2loadPath = findCommand('h2load')
const h2loadVersion =
  h2loadPath === undefined ? 'missing' : execFileSync(h2loadPath, ['--version'], { encoding: 'utf8' }).trim()
say(
  header(`npm run bench -- grpc${isQuick ? ' --quick' : ''}`, ['sluice', '@grpc/grpc-js']),
  `h2load    ${h2loadVersion}`,
  arePinned
    ? 'cores     the server has one, and the client has another'
    : 'cores     shared: there is no taskset, or only one core. "CPU per call" is what counts then',
)
await reportLoad()
await reportH2load()
await reportMemory()
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
