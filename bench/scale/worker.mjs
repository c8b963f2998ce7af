import { createClient } from '@redis/client'
import { rates, times } from './decisions.mjs'
import { fleet, sizes, victim } from './fleet.mjs'

// node worker.mjs '{"task": …, "url": …}' prints one JSON object. One process measures one way to count, or is a part
// of a fleet.

const tasks = { rates, times, fleet, victim, sizes }
const { task, ...options } = JSON.parse(process.argv[2])
const server = createClient({ url: options.url })
await server.connect()
const answer = await tasks[task]({ ...options, server })
if (process.send === undefined) process.stdout.write(JSON.stringify(answer), () => process.exit(0))
else process.send(answer, () => process.exit(0))
