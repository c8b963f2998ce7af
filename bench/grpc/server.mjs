import { contestants } from './servers.mjs'

// A server in a separate process: reports its port, and on every message what it has used so far.

const port = await contestants[process.argv[2]]()
process.on('message', async ({ collect }) => {
  if (collect) {
    // Twice, with a turn between: what a first collection releases may hold on to more.
    globalThis.gc()
    await new Promise((resolve) => setTimeout(resolve, 100))
    globalThis.gc()
  }
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed, external } = process.memoryUsage()
  process.send({ cpuUs: user + system, rss, heap: heapUsed + external })
})
process.on('disconnect', () => process.exit())
process.send({ port })
