import { frameworks } from './contestants.mjs'

// Serves one contestant in a process of its own, and tells its parent where, and how much CPU it has used when asked.

const { framework, contestant, redis } = JSON.parse(process.argv[2])
const { serve, contestants } = frameworks[framework]
const port = await serve(await contestants[contestant](redis))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuUs: user + system })
})
process.on('disconnect', () => process.exit(0))
process.send({ port })
