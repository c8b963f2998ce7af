import { connect } from 'node:net'

const REQUEST = Buffer.from(
  'GET /api/users/42?fields=name HTTP/1.1\r\nHost: bench.example\r\nUser-Agent: bench/1.0\r\nAccept: application/json\r\n' +
    'Accept-Encoding: gzip, br\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\n\r\n',
)

/** Sends requests one after the other, and counts the statuses of their answers. */
export async function askOnce(port, requests) {
  const statuses = {}
  for (let i = 0; i < requests; i++) {
    const { status, body } = await fetch(`http://127.0.0.1:${port}/api/users/42`)
    await body?.cancel()
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  return statuses
}

/** Keeps connections busy with one request each until there were so many answers of `bodyBytes`. */
export function load(port, connections, requests, bodyBytes) {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now()
    const times = new Float64Array(requests)
    let answers = 0
    let sent = 0
    let open = connections
    for (let i = 0; i < connections; i++) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      let head = ''
      let left = 0
      let sentMs = 0
      const ask = () => {
        if (sent >= requests) {
          socket.destroy()
          if (--open === 0) resolve(result(startedMs, times.subarray(0, answers)))
          return
        }
        sent++
        sentMs = performance.now()
        socket.write(REQUEST)
      }
      socket.on('connect', ask)
      socket.on('error', reject)
      socket.on('end', () => reject(new Error('the proxy closed a connection')))
      socket.on('data', (data) => {
        if (left > 0) left -= data.length
        else {
          head += data.toString('latin1')
          const end = head.indexOf('\r\n\r\n')
          if (end < 0) return
          if (!head.startsWith('HTTP/1.1 200')) return reject(new Error(head.slice(0, 200)))
          // Chunks have a few bytes more, and end with an empty one.
          left = /transfer-encoding/i.test(head.slice(0, end))
            ? head.endsWith('0\r\n\r\n')
              ? 0
              : 1
            : bodyBytes - (head.length - end - 4)
          head = ''
        }
        if (left > 0) return
        left = 0
        times[answers++] = performance.now() - sentMs
        ask()
      })
    }
  })
}

function result(startedMs, times) {
  const seconds = (performance.now() - startedMs) / 1000
  times.sort()
  return { perSecond: times.length / seconds, p99Ms: times[Math.floor(times.length * 0.99)] }
}
