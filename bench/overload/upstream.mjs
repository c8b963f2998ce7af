import { createServer } from 'node:http'

// An app of a known capacity, in a separate process: node upstream.mjs WORKERS SERVICE-MS. So many requests are worked
// on concurrently, each for so long; the others wait in one queue, without end. It reports its port.

const [workers, serviceMs] = process.argv.slice(2).map(Number)
const waiting = []
let busy = 0

function begin(response) {
  busy++
  setTimeout(() => {
    busy--
    response.end('done\n')
    next()
  }, serviceMs)
}

/** Skips clients that have left: an app that works for absent clients would be worse off. */
function next() {
  while (busy < workers && waiting.length > 0) {
    const response = waiting.shift()
    if (!response.destroyed) begin(response)
  }
}

const server = createServer((request, response) => {
  request.resume()
  waiting.push(response)
  next()
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
