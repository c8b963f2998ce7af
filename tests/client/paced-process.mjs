import { once } from 'node:events'
import { createFetch } from '../../client/dist/index.js'

// node paced-process.mjs URL BODY CALLS: prints "ready", and when it is sent a line, makes so many calls at once through a paced fetch.
// Prints a line for each that is answered, and at last how many requests were refused.
const [url, body, calls] = process.argv.slice(2)
let refused = 0
const paced = createFetch({
  retryMethods: ['POST'],
  fetch: async (input, init) => {
    // A connection that is kept may be closed by the service at the moment in which a slow process uses it.
    const headers = { ...init.headers, connection: 'close' }
    const response = await fetch(input, { ...init, headers })
    if (response.status === 429) refused++
    return response
  },
})
const call = async () => {
  const response = await paced(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await response.arrayBuffer()
  process.stdout.write(`${response.status}\n`)
}
process.stdout.write('ready\n')
await once(process.stdin, 'data')
process.stdin.destroy()
await Promise.all(Array.from({ length: Number(calls) }, call))
process.stdout.write(`refused ${refused}\n`)
