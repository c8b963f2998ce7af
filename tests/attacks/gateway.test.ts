import { connect } from 'node:http2'
import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  exchangeBytes,
  ManualClock,
  RecordingGate,
  startApp,
  startGateway,
  startRaw,
  talkTo,
} from '../../server/src/edge/gateway/proxy/gateway.suite.ts'
import { until } from '../servers/until.mjs'

const H = 'Host: a.example\r\n'
const GET = `GET / HTTP/1.1\r\n${H}\r\n`

describe('greedy clients of the gateway', () => {
  it('who send requests and read no answers are not read from', async () => {
    const gate = {
      asked: 0,
      admit() {
        this.asked++
        return { kind: 'refused' as const, status: 429, headers: [], body: Buffer.alloc(16_384, 'x') }
      },
    }
    const { port } = await startGateway('http://127.0.0.1:9', { gate })
    const talk = talkTo(port)
    talk.socket.pause()
    for (let i = 0; i < 20_000; i++) talk.socket.write(GET)
    let before = -1
    await until('the gateway waits for them', () => {
      const rests = gate.asked > 0 && gate.asked === before
      before = gate.asked
      return rests
    })
    // 20,000 answers would be 330 MB.
    expect(gate.asked).toBeLessThan(4_000)
    talk.socket.destroy()
  })

  it('who send thousands of requests in one burst are answered one by one, without a deep stack', async () => {
    const gate = { admit: () => ({ kind: 'refused' as const, status: 429, headers: [], body: '' }) }
    const { port } = await startGateway('http://127.0.0.1:9', { gate })
    const talk = talkTo(port, GET.repeat(5_000))
    await until('all are answered', () => talk.text().split('HTTP/1.1 429').length - 1 === 5_000)
  })

  it('who send a head byte by byte make work in proportion to it', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port } = await startGateway(app)
    const talk = talkTo(port)
    talk.socket.setNoDelay(true)
    const bytes = `GET / HTTP/1.1\r\n${H}Connection: close\r\nX: ${'a'.repeat(2_000)}\r\n\r\n`
    for (const byte of bytes) talk.socket.write(byte)
    await until('it is answered', () => talk.isClosed())
    expect(talk.text()).toContain('200 OK')
  })

  it('who send a body after their answer are not read for ever', async () => {
    const { port } = await startGateway('http://127.0.0.1:9', { route: { maxBodyBytes: 10 } })
    const talk = talkTo(port, `POST / HTTP/1.1\r\n${H}Content-Length: 100000000\r\n\r\n`)
    let sent = 0
    const piece = Buffer.alloc(65_536)
    const more = (): void => {
      while (!talk.socket.destroyed && sent < 100_000_000) {
        sent += piece.length
        if (!talk.socket.write(piece)) return void talk.socket.once('drain', more)
      }
    }
    more()
    await until('they are cut off', () => talk.socket.destroyed)
    expect(talk.text()).toContain('HTTP/1.1 413 ')
    expect(sent).toBeLessThan(32 * 1_048_576)
  })

  it.each([
    ['a body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n'],
    ['more requests', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('who keep sending %s while they have to wait are hardly read from', async (_, head) => {
    const clock = new ManualClock()
    const gate = { admit: () => new Promise<never>(() => {}) }
    const { port, gateway } = await startGateway('http://127.0.0.1:9', {
      clock,
      gate,
      route: { maxBodyBytes: 2 ** 40 },
    })
    const talk = talkTo(port, head)
    talk.socket.write(Buffer.alloc(32 * 1_048_576))
    await until('it is in flight', () => gateway.stats.requests === 1)
    const readBytes = (): number => gateway.connectionsInFlight()[0]?.bytesRead ?? 0
    let looks = 0
    await until('it is read no further', () => {
      clock.advance(1_000)
      return readBytes() > 262_144 && ++looks === 20
    })
    expect(readBytes()).toBeLessThan(8 * 65_536)
  })

  it('who take all connections have to leave for others', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port, gateway } = await startGateway(app, { bounds: { maxConnections: 16 } })
    const idle = Array.from({ length: 40 }, () => talkTo(port))
    await until(
      'the bound holds',
      () => gateway.stats.connections <= 16 && idle.filter((talk) => talk.isClosed()).length >= 24,
    )
    expect(await exchangeBytes(port, `GET / HTTP/1.1\r\n${H}Connection: close\r\n\r\n`)).toContain('200 OK')
  })

  it('who ask more than there is room for are answered 503', async () => {
    const held: Socket[] = []
    const app = await startRaw((socket) => void socket.on('data', () => held.push(socket)))
    const { port, gateway } = await startGateway(app, { bounds: { maxRequests: 4 } })
    for (let i = 0; i < 4; i++) talkTo(port, GET)
    await until('all places are taken', () => gateway.stats.requests === 4)
    const answer = await exchangeBytes(port, `GET / HTTP/1.1\r\n${H}Connection: close\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n[\s\S]*GATEWAY_OVERLOADED/)
  })

  it('of HTTP/2 have a bounded number of streams, and of resets', async () => {
    const gate = new RecordingGate()
    const app = await startRaw(() => {})
    const { url, gateway } = await startGateway(app, { gate, bounds: { maxStreams: 10 } })
    const session = connect(url)
    let isClosed = false
    session.on('error', () => {})
    session.on('close', () => (isClosed = true))
    onTestFinished(() => session.destroy())
    await until('the settings are known', () => session.remoteSettings?.maxConcurrentStreams === 10)
    for (let i = 0; i < 5_000 && !session.destroyed; i++) {
      const stream = session.request({ ':path': '/' })
      stream.on('error', () => {})
      stream.close(8)
      if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await until('it is over', () => isClosed || gateway.stats.requests === 0)
    await until('nothing is left', () => gateway.stats.requests === 0)
    expect(gate.ended.length).toBe(gate.admitted)
  })

  it('of HTTP/2 with large heads are refused before anybody decides', async () => {
    const gate = new RecordingGate()
    const { url } = await startGateway('http://127.0.0.1:9', { gate })
    const session = connect(url, { maxSendHeaderBlockLength: 1_000_000 })
    session.on('error', () => {})
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':path': '/', 'x-large': 'a'.repeat(200_000) })
    let status: unknown
    stream.on('error', () => {})
    stream.on('response', (headers) => (status = headers[':status']))
    await until('it is over', () => stream.closed)
    expect(gate.admitted).toBe(0)
    expect([undefined, 431]).toContain(status)
  })

  it('who speak anything else than HTTP are answered, and the gateway continues', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port, url, gateway } = await startGateway(app)
    const noise = [
      '\u0016\u0003\u0001\u0002\u0000\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense that is no frame',
      'SSH-2.0\r\n\r\n',
      '\r\n\r\n\r\n\r\n',
    ]
    for (const bytes of noise) {
      const talk = talkTo(port, bytes)
      talk.socket.end()
      await until('it is over', () => talk.isClosed())
    }
    expect(await (await fetch(url)).text()).toBe('ok')
    await until('nothing is left', () => gateway.stats.requests === 0)
  })
})

describe('greedy upstreams of the gateway', () => {
  it('that answer without end are read as fast as the client reads, and no faster', async () => {
    let written = 0
    const app = await startRaw((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        const piece = Buffer.from(`10000\r\n${'x'.repeat(65_536)}\r\n`)
        const more = (): void => {
          while (!socket.destroyed && written < 512 * 1_048_576) {
            written += piece.length
            if (!socket.write(piece)) return void socket.once('drain', more)
          }
        }
        more()
      })
    })
    const { port, gateway } = await startGateway(app)
    const talk = talkTo(port)
    talk.socket.pause()
    talk.socket.write(GET)
    let before = -1
    await until('it has to wait', () => {
      const rests = written > 0 && written === before
      before = written
      return rests
    })
    expect(written).toBeLessThan(64 * 1_048_576)
    talk.socket.destroy()
    await until('it is given up', () => gateway.stats.requests === 0 && gateway.stats.upstreamConnections === 0)
  })

  it('that send something unasked are not believed', async () => {
    const patient = await startRaw((socket) => {
      socket.on('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        setImmediate(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'))
      })
    })
    const { url: other, gateway } = await startGateway(patient)
    expect(await (await fetch(other)).text()).toBe('ok')
    await until('the connection is given up', () => gateway.stats.upstreamConnections === 0)
    expect(await (await fetch(other)).text()).toBe('ok')
  })
})
