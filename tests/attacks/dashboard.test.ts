import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startAdmin } from '../../server/src/admin/admin-kit.suite.ts'
import { builtDashboard } from '../../server/src/admin/dashboard/built-dashboard.suite.ts'
import { DashboardFiles, MAX_HELD_BYTES } from '../../server/src/admin/dashboard/dashboard-files.ts'
import { until } from '../servers/until.mjs'

const HEAD = 'HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n'

function connected(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Asks for a path as it is, which a client of HTTP would clean up, and returns the whole answer. */
function raw(url: string, path: string, more = ''): Promise<string> {
  const socket = connected(url)
  socket.write(`GET ${path} ${HEAD}${more}Connection: close\r\n\r\n`)
  return text(socket)
}

const statusOf = (answer: string): number => Number(answer.split(' ', 2)[1])
const heldBytes = (): number => process.memoryUsage().external + process.memoryUsage().arrayBuffers

describe('names of files', () => {
  it.each([
    '/assets/../index.html',
    '/assets/../manifest.json',
    '/assets/../licenses.txt',
    '/assets/../../package.json',
    '/assets/../../../../../../etc/passwd',
    '/assets/%2e%2e/manifest.json',
    '/assets/..%2fmanifest.json',
    '/assets/..%5cmanifest.json',
    '/assets/..\\manifest.json',
    '/assets//etc/passwd',
    '/assets/%00',
    '/assets/index-1.js%00.css',
    '/assets/%69ndex-1.js',
    '/assets/./index-1.js',
    '/assets/index-1.js;a=b',
    '/assets/index-1.js.gz',
    '/assets/constructor',
    '/assets/__proto__',
    `/assets/${'a/'.repeat(4_000)}`,
    '/assets/%',
    '//assets/index-1.js',
    '/Assets/index-1.js',
  ])('that are not in the list of the build lead nowhere: %s', async (path) => {
    const { url, failures } = await startAdmin({ dashboard: await builtDashboard() })
    expect([statusOf(await raw(url, path)), failures]).toEqual([404, []])
  })

  it.each(['/../assets/index-1.js', '/.git/config', '//evil.example/', '/\\evil.example', '/%2fevil', '/index.html'])(
    'that only look like a page are none: %s',
    async (path) => {
      const { url } = await startAdmin({ dashboard: await builtDashboard() })
      expect(statusOf(await raw(url, path))).toBe(404)
    },
  )

  it('are never said back', async () => {
    const { url } = await startAdmin({ dashboard: await builtDashboard() })
    for (const path of ['/assets/%3Cscript%3E', '/customers/%3Cscript%3E?q=%3Cscript%3E']) {
      expect(await raw(url, path)).not.toContain('%3Cscript')
    }
  })
})

describe('headers', () => {
  it.each([
    'gzip;q=1,'.repeat(1_600),
    `${','.repeat(15_000)}br`,
    `gzip${';q=1'.repeat(3_500)}`,
    `br;q=${'0'.repeat(15_000)}`,
    `${' '.repeat(7_000)}br${' '.repeat(7_000)};${' '.repeat(1_000)}q=1`,
  ])('that are huge are read in part, and answered', async (codings) => {
    const { url } = await startAdmin({ dashboard: await builtDashboard() })
    expect(statusOf(await raw(url, '/assets/index-1.js', `Accept-Encoding: ${codings}\r\n`))).toBe(200)
    expect(statusOf(await raw(url, '/assets/index-1.js', `If-None-Match: ${codings}\r\n`))).toBe(200)
    expect([200, 404]).toContain(statusOf(await raw(url, '/login', `Accept: ${codings}\r\n`)))
  })
})

describe('clients that ask for much', () => {
  // It does not get smaller, so that it is kept and sent as it is.
  const large = randomBytes(1_000_000)
  const connectionsOf = (server: Server): Promise<number> =>
    new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))

  it('and read nothing cost no copies, and are cut off', async () => {
    const built = await builtDashboard({ 'index.html': 'x', 'assets/large.png': large })
    const { url, server } = await startAdmin({ dashboard: { ...built, stalledMs: 200 } })
    let most = 0
    const before = heldBytes()
    server.on('request', () => {
      most = Math.max(most, heldBytes() - before)
    })
    let came = 0
    server.on('connection', () => came++)
    for (let i = 0; i < 20; i++) connected(url).write(`GET /assets/large.png ${HEAD}\r\n`.repeat(20))
    await until('all came, and were cut off', async () => came === 20 && (await connectionsOf(server)) === 0)
    // The one copy, and what sockets and parsers need; of copies there would be hundreds.
    expect(most).toBeLessThan(20_000_000)
  })

  it('and read slowly get all of it', async () => {
    const built = await builtDashboard({ 'index.html': 'x', 'assets/large.png': large })
    const { url } = await startAdmin({ dashboard: { ...built, stalledMs: 5_000 } })
    const socket = connected(url)
    socket.write(`GET /assets/large.png ${HEAD}Connection: close\r\n\r\n`)
    let bytes = 0
    for await (const chunk of socket) {
      bytes += (chunk as Buffer).length
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(bytes).toBeGreaterThan(large.length)
  })

  it('at the same time share one copy of what is held, which is bounded', async () => {
    const built = await builtDashboard({ 'index.html': 'x', 'assets/large.png': large })
    const files = new DashboardFiles(built.folder())
    const file = await files.find('/assets/large.png')
    if (file === undefined) throw new Error('it is not in the list')
    const reading = Array.from({ length: 100 }, () => files.read('/assets/large.png', file, 'identity'))
    expect(new Set(await Promise.all(reading)).size).toBe(1)
    expect(MAX_HELD_BYTES).toBe(4_194_304)
  })

  it('too often are refused before a file is looked for', async () => {
    const { url } = await startAdmin({ dashboard: await builtDashboard() })
    const socket = connected(url)
    socket.write(`HEAD /assets/index-1.js ${HEAD}\r\n`.repeat(610))
    socket.write(`HEAD /assets/index-1.js ${HEAD}Connection: close\r\n\r\n`)
    const statuses = [...(await text(socket)).matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status)
    expect(statuses).toEqual([...Array(600).fill('200'), ...Array(11).fill('429')])
  })
})
