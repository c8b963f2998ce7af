import { createServer } from 'node:http'

// An app of a known capacity, in a process of its own: node upstream.mjs WORKERS SERVICE-MS. So many requests are worked on at
// once, each for so long; the others wait in one queue, without end. It tells its port.

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

/** Skips those who have left: an app that works for nobody would be worse off. */
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
