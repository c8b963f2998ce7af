import { fork, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { startProxy } from '../../tests/servers/proxy.mjs'

/** What happens to Redis, or to the machine, while apps ask. Each returns where apps connect, and what ends it. */
export const CONDITIONS = [
  { name: 'healthy', begin: async (redis) => ({ url: redis.url, start() {}, async end() {} }) },
  { name: 'busy machine', begin: busyMachine },
  { name: 'replies 8 ms later', begin: (redis) => slowLink(redis, 8) },
  { name: 'replies 30 ms later', begin: (redis) => slowLink(redis, 30) },
  { name: 'Redis stands still for 30 ms, twice a second', begin: stalls },
  { name: 'Redis stands still after a second', begin: silence },
]

/** Two processes for each core do nothing but count. */
async function busyMachine(redis) {
  const spin = () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  const spinners = Array.from({ length: 2 * availableParallelism() }, spin)
  const end = async () => {
    for (const spinner of spinners) spinner.kill('SIGKILL')
  }
  return { url: redis.url, start() {}, end }
}

async function slowLink(redis, ms) {
  const proxy = await startProxy(redis.port)
  proxy.delay(ms)
  return { url: proxy.url, start() {}, end: () => proxy.stop() }
}

async function stalls(redis) {
  let isOver = false
  const run = async () => {
    while (!isOver) {
      await pause(470)
      await redis.pause()
      await pause(30)
      redis.resume()
    }
  }
  let running = Promise.resolve()
  const start = () => {
    running = run()
  }
  const end = async () => {
    isOver = true
    await running
  }
  return { url: redis.url, start, end }
}

async function silence(redis) {
  const start = () => setTimeout(() => void redis.pause(), 1_000)
  return { url: redis.url, start, end: async () => redis.resume() }
}

const worker = new URL('./worker.mjs', import.meta.url)

/** Runs apps that begin together, and returns what each has counted. */
export async function runApps(number, task, whenReady) {
  const apps = Array.from({ length: number }, () => fork(worker, [JSON.stringify(task)]))
  const next = (app) =>
    new Promise((resolve, reject) => {
      app.once('message', resolve)
      app.once('exit', (code) => reject(new Error(`an app ended with code ${code}`)))
    })
  try {
    await Promise.all(apps.map(next))
    whenReady()
    const answers = apps.map(next)
    for (const app of apps) app.send('go')
    return await Promise.all(answers)
  } finally {
    for (const app of apps) app.kill('SIGKILL')
  }
}
