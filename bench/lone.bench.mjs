import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '../tests/servers/redis.mjs'
import { count, header, median, spread, table } from './report.mjs'
import { measureRounds } from './rounds.mjs'

// npm run bench -- lone [--quick]: what a lone decision through Redis costs: one after the other, so that none shares a
// call with another. Garbage, processor time and time of the process that asks, and processor time of Redis.

const isQuick = process.argv.includes('--quick')
const { rounds, decisions, warmUp } = isQuick
  ? { rounds: 1, decisions: 4_000, warmUp: 8_000 }
  : { rounds: 5, decisions: 20_000, warmUp: 40_000 }

const GARBAGE_GOAL_BYTES = 2_000
const REDIS_BUDGET = 1.3
const FLAGS = ['--max-semi-space-size=512', '--min-semi-space-size=512', '--expose-gc']

const CASES = [
  { name: 'sluice, RedisStore', contestant: 'sluice' },
  { name: 'bare EVALSHA, own connection', contestant: 'own' },
  { name: 'bare EVALSHA, @redis/client', contestant: 'client' },
  { name: 'bare EVALSHA, node:net', contestant: 'net' },
  { name: 'INCRBY + EXPIRE, node:net', contestant: 'pipeline' },
]
const [OURS, PIPELINE] = [0, 4]

const worker = fileURLToPath(new URL('./lone/worker.mjs', import.meta.url))
const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const us = (value) => `${value.toFixed(1)} µs`
const bytes = (value) => `${count(value)} B`
const around = (values) => `± ${spread(values).toFixed(0)} %`
const verdict = (isMet) => (isMet ? 'met' : 'missed')

async function measure({ contestant }) {
  const task = JSON.stringify({ contestant, decisions, warmUp })
  const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, worker, task])
  return JSON.parse(stdout)
}

function report(runs) {
  const all = (i, field) => runs[i].map((run) => run[field])
  const middle = (i, field) => median(all(i, field))
  const rows = CASES.map(({ name }, i) => [
    name,
    bytes(middle(i, 'garbageBytes')),
    bytes(middle(i, 'externalBytes')),
    us(middle(i, 'nodeUs')),
    around(all(i, 'nodeUs')),
    us(middle(i, 'wallUs')),
    us(middle(i, 'redisUs')),
    around(all(i, 'redisUs')),
    us(middle(i, 'commandUs')),
  ])
  const head = ['', 'garbage', 'outside of the heap', 'CPU', 'spread', 'time', 'Redis CPU', 'spread', 'in commands']
  say(`One decision after the other, ${count(decisions)} in a round`, '', table(head, rows))
  const garbage = middle(OURS, 'garbageBytes')
  const ratio = (field) => middle(OURS, field) / middle(PIPELINE, field)
  const inAll = ratio('redisUs')
  say(
    `goal garbage of a lone decision, ${bytes(garbage)} (≤ ${bytes(GARBAGE_GOAL_BYTES)}): ${verdict(garbage <= GARBAGE_GOAL_BYTES)}`,
    `ratio Redis CPU for a lone decision, sluice / INCRBY + EXPIRE in one write: ${inAll.toFixed(2)} × (budget ${REDIS_BUDGET} ×: ${verdict(inAll <= REDIS_BUDGET)})`,
    `ratio of it inside of commands: ${ratio('commandUs').toFixed(2)} ×`,
  )
}

const startedAt = Date.now()
const probe = await startRedis()
say(
  header(`npm run bench -- lone${isQuick ? ' --quick' : ''}`, ['sluice', '@redis/client']),
  `redis     ${await probe.field('redis_version', 'INFO', 'server')}, on loopback, a fresh one for each case and round`,
  `node      ${FLAGS.join(' ')}: nothing is collected while garbage is counted`,
)
await probe.stop()
report(await measureRounds(CASES, rounds, { measure, nameOf: ({ name }) => name }))
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
