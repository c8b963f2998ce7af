import { frameworks } from './contestants.mjs'

// Serves one contestant in a separate process, and reports its address and, on request, its CPU time to its parent.

const { framework, contestant, redis } = JSON.parse(process.argv[2])
const { serve, contestants } = frameworks[framework]
const port = await serve(await contestants[contestant](redis))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuUs: user + system })
})
process.on('disconnect', () => process.exit(0))
process.send({ port })
