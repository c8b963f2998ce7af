import { createFetch } from '../../client/dist/index.js'

// node paced-process.mjs URL BODY CALLS: makes so many calls at once through a paced fetch. Prints a line for each that is answered, and at
// last how many requests were refused.
const [url, body, calls] = process.argv.slice(2)
let refused = 0
const paced = createFetch({
  retryMethods: ['POST'],
  fetch: async (input, init) => {
    const response = await fetch(input, init)
    if (response.status === 429) refused++
    return response
  },
})
const call = async () => {
  const response = await paced(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await response.arrayBuffer()
  process.stdout.write(`${response.status}\n`)
}
await Promise.all(Array.from({ length: Number(calls) }, call))
process.stdout.write(`refused ${refused}\n`)
