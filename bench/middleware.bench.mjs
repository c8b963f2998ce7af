import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startRedis } from '../tests/servers/redis.mjs'
import { frameworks } from './middleware/contestants.mjs'
import { Load } from './middleware/load.mjs'
import { count, header, median, spread, table } from './report.mjs'

// npm run bench -- middleware: an app bare, with the middleware that its users have today, and with ours.

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const CONNECTIONS = 32
/** By number, not by time: what a busy machine leaves cold would be measured cold. */
const WARM_UP_REQUESTS = 20_000
const REQUESTS = 20_000

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

/** measure serves one contestant and asks it as often as it answers. */
async function measure(task) {
  const child = fork(server, [JSON.stringify(task)])
  const [{ port }] = await once(child, 'message')
  const load = new Load(port, CONNECTIONS)
  try {
    await load.more(WARM_UP_REQUESTS)
    const before = await snapshot(child, load)
    await load.more(REQUESTS)
    const after = await snapshot(child, load)
    if (load.refusals > 0) throw new Error(`${load.refusals} requests of ${JSON.stringify(task)} were refused`)
    const answers = after.answers - before.answers
    return { perSecond: (1000 * answers) / (after.atMs - before.atMs), cpuUs: (after.cpuUs - before.cpuUs) / answers }
  } finally {
    load.close()
    child.kill()
  }
}

async function snapshot(child, load) {
  const { answers } = load
  const atMs = performance.now()
  child.send('cpu')
  const [{ cpuUs }] = await once(child, 'message')
  return { answers, atMs, cpuUs }
}

/** measureAll gives every task its turn before one gets its next, so that a noisy moment of the machine hits all alike. */
async function measureAll(tasks) {
  const results = tasks.map(() => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < tasks.length; i++) {
      const turn = (i + round) % tasks.length
      results[turn].push(await measure(tasks[turn]))
    }
  }
  return results
}

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
console.log(`${header('npm run bench -- middleware', PACKAGES)}\n`)
const only = process.argv.slice(2)
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
process.exit(0)
