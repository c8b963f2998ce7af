import { createServer } from 'node:net'

// An upstream that costs as little as it can: it answers every head with the same bytes.

const body = Buffer.alloc(Number(process.argv[2] ?? 128), 'x').toString()
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
)
const END = Buffer.from('\r\n\r\n')

const server = createServer({ noDelay: true }, (socket) => {
  let rest
  socket.on('error', () => {})
  socket.on('data', (data) => {
    const all = rest === undefined ? data : Buffer.concat([rest, data])
    let at = 0
    for (let end = all.indexOf(END); end >= 0; end = all.indexOf(END, at)) {
      at = end + 4
      socket.write(answer)
    }
    rest = at === all.length ? undefined : all.subarray(at)
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }))
