import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startRedis } from '../tests/servers/redis.mjs'
import { frameworks } from './middleware/contestants.mjs'
import { Load } from './middleware/load.mjs'
import { count, header, median, spread, table } from './report.mjs'
import { measureRounds } from './rounds.mjs'

// npm run bench -- middleware [--quick] [FRAMEWORK …]: an app bare, with the middleware that its users have today, and
// with ours. A round on Redis in which a request was refused or not counted is void.

const isQuick = process.argv.includes('--quick')
const ROUNDS = Number(process.env.ROUNDS ?? (isQuick ? 1 : 5))
const CONNECTIONS = 32
/** By number, not by time: what a busy machine leaves cold would be measured cold. */
const WARM_UP_REQUESTS = isQuick ? 2_000 : 20_000
const REQUESTS = isQuick ? 2_000 : 20_000

const PACKAGES = [
  'sluice',
  'express',
  'express-rate-limit',
  'rate-limit-redis',
  'fastify',
  '@fastify/rate-limit',
  'ioredis',
]

const server = fileURLToPath(new URL('./middleware/server.mjs', import.meta.url))

/** Serves one contestant and asks it as often as it answers. */
async function measure(task) {
  if (task.redis !== undefined) await redis.call('FLUSHALL')
  const child = fork(server, [JSON.stringify(task)])
  const [{ port }] = await once(child, 'message')
  const load = new Load(port, CONNECTIONS)
  try {
    await load.more(WARM_UP_REQUESTS)
    await load.hold()
    const countedBefore = await countedBy(task)
    const before = await snapshot(child, load)
    load.go()
    await load.more(REQUESTS)
    const after = await snapshot(child, load)
    await load.hold()
    const voids = voidsOf(task, {
      answers: load.answers - before.answers,
      refusals: load.refusals - before.refusals,
      counted: (await countedBy(task)) - countedBefore,
    })
    const answers = after.answers - before.answers
    const perSecond = (1000 * answers) / (after.atMs - before.atMs)
    return { perSecond, cpuUs: (after.cpuUs - before.cpuUs) / answers, voids }
  } finally {
    load.close()
    child.kill()
  }
}

function voidsOf(task, { answers, refusals, counted }) {
  const voids = refusals > 0 ? [`${refusals} requests were refused`] : []
  if (task.redis !== undefined && counted !== answers)
    voids.push(`${answers} were answered, but Redis counted ${counted}`)
  return voids
}

/** The counters of others are numbers; the last four bytes of ours are the hits of the window. */
const COUNTED = `local sum = 0
for _, key in ipairs(redis.call('KEYS', '*')) do
  local state = redis.call('GET', key)
  if string.sub(key, 1, 7) == 'sluice:' then state = struct.unpack('<I4', string.sub(state, -4)) end
  sum = sum + state
end
return sum`

const countedBy = async (task) => (task.redis === undefined ? 0 : Number(await redis.call('EVAL', COUNTED, 0)))

async function snapshot(child, load) {
  const { answers, refusals } = load
  const atMs = performance.now()
  child.send('cpu')
  const [{ cpuUs }] = await once(child, 'message')
  return { answers, refusals, atMs, cpuUs }
}

const nameOf = ({ framework, contestant, redis: url }) =>
  `${framework}, ${contestant}, ${url === undefined ? 'memory' : 'Redis'}`
const measureAll = (tasks) => measureRounds(tasks, ROUNDS, { measure, nameOf })

const medianUs = (runs) => median(runs.map(({ cpuUs }) => cpuUs))

const HEAD = ['', 'requests per second', 'spread', 'CPU a request', 'spread', 'on top of bare']

function row(name, runs, bareUs) {
  const [rates, cpus] = [runs.map(({ perSecond }) => perSecond), runs.map(({ cpuUs }) => cpuUs)]
  const us = (value) => `${value.toFixed(1)} µs`
  return [
    name,
    count(median(rates)),
    `± ${spread(rates).toFixed(0)} %`,
    us(median(cpus)),
    `± ${spread(cpus).toFixed(0)} %`,
    us(median(cpus) - bareUs),
  ]
}

const redis = await startRedis()
console.log(`${header(`npm run bench -- middleware${isQuick ? ' --quick' : ''}`, PACKAGES)}\n`)
const only = process.argv.slice(2).filter((each) => !each.startsWith('--'))
for (const [framework, { peerName, contestants }] of Object.entries(frameworks)) {
  if (only.length > 0 && !only.includes(framework)) continue
  const names = Object.keys(contestants).filter((name) => name !== 'bare')
  const stores = { memory: undefined, Redis: redis.url }
  const cases = Object.entries(stores).flatMap(([store, url]) =>
    names.map((contestant) => ({ store, url, contestant })),
  )
  const tasks = cases.map(({ url, contestant }) => ({ framework, contestant, redis: url }))
  const [bare, ...results] = await measureAll([{ framework, contestant: 'bare' }, ...tasks])
  const bareUs = medianUs(bare)
  const titles = { peer: peerName, same: `sluice/${framework}, its options`, plain: `sluice/${framework}` }
  const rows = cases.map(({ store, contestant }, i) => row(`${titles[contestant]}, ${store}`, results[i], bareUs))
  console.log(`${table(HEAD, [row(`${framework}, bare`, bare, bareUs), ...rows])}\n`)
  for (const store of Object.keys(stores)) {
    const overhead = (contestant) => {
      const at = cases.findIndex((each) => each.store === store && each.contestant === contestant)
      return medianUs(results[at]) - bareUs
    }
    for (const ours of names.filter((name) => name !== 'peer')) {
      const [own, peer] = [overhead(ours), overhead('peer')]
      const verdict = own < peer ? 'less' : 'not less'
      console.log(
        `overhead of ${titles[ours]}, ${store}: ${own.toFixed(1)} of ${peer.toFixed(1)} µs: ${verdict} than ${peerName}`,
      )
    }
  }
  console.log()
}
await redis.stop()
process.exit()
