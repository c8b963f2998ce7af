import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import { describe, expect, it } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import type { Admission } from '../gate.ts'
import {
  ENDLESS,
  ManualClock,
  RecordingGate,
  SOCKET_FIELDS,
  SWITCHING,
  sendUntilPaused,
  startApp,
  startGateway,
  startRaw,
  type Talk,
  talkTo,
} from './gateway.suite.ts'

const H = 'Host: a.example\r\n'
const UPLOAD = `POST / HTTP/1.1\r\n${H}Content-Length: 1000000000\r\n\r\n`
const ROUTE = { maxBodyBytes: 2 ** 40, times: ENDLESS }

/** A connection of HTTP/2 that asks for /, in frames. */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00'
const GET_FRAME = getFrame(1)

function idOf(stream: number): string {
  return String.fromCharCode(0, stream >> 16, (stream >> 8) & 255, stream & 255)
}

function getFrame(stream: number): string {
  return `\x00\x00\x06\x01\x05${idOf(stream)}\x82\x84\x86\x41\x01a`
}

function resetFrame(stream: number): string {
  return `\x00\x00\x04\x03\x00${idOf(stream)}\x00\x00\x00\x08`
}

describe('a client of HTTP/2 that ends its side of the connection', () => {
  it('is gone, without a word of HTTP/2 about it', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port, gateway } = await startGateway(app)
    const talk = talkTo(port, PREFACE + GET_FRAME)
    await until('it is answered', () => talk.text().endsWith('ok'))
    talk.socket.end()
    await until('it is forgotten', () => gateway.stats.connections === 0)
  })

  it('has its request given up at the upstream', async () => {
    const gate = new RecordingGate()
    let isGivenUp = false
    let hasCome = false
    const app = await startApp((request) => {
      hasCome = true
      request.on('close', () => (isGivenUp = true))
    })
    const { port, gateway } = await startGateway(app, { gate })
    const talk = talkTo(port, PREFACE + GET_FRAME)
    await until('it has come', () => hasCome)
    expect(gateway.connectionsInFlight()).toMatchObject([{ version: 'HTTP/2', use: 'busy', streams: 1 }])
    talk.socket.end()
    await until('it is given up', () => isGivenUp && gateway.stats.connections === 0)
    expect(gate.ended).toEqual(['abort'])
  })
})

describe('a connection of HTTP/2 that no one uses', () => {
  it('is closed, also when a request took longer before than a connection may be idle', async () => {
    const waiting: ServerResponse[] = []
    const app = await startApp((_, response) => waiting.push(response))
    const { port, gateway } = await startGateway(app, { bounds: { keepAliveMs: 100 } })
    const used = talkTo(port, PREFACE + GET_FRAME)
    await until('it is asked', () => waiting.length === 1)
    const idle = talkTo(port, PREFACE)
    // Its time began later, so that of the other one is over, too.
    await until('the idle one is closed', () => idle.isClosed())
    expect(used.isClosed()).toBe(false)
    waiting[0]?.end('ok')
    await until('it is answered', () => used.text().includes('ok'))
    await until('both are closed', () => gateway.stats.connections === 0)
  })
})

describe('a client of HTTP/2 that resets too many streams, and ends its connection when asked to', () => {
  // nghttp2 tells it, and not node:http2; without streams, it does not even hear the end any more.
  it.each([
    ['a stream is open', '', 75_000],
    ['no stream is open', resetFrame(1), 100],
  ])('leaves nothing behind where %s', async (_, last, keepAliveMs) => {
    const ended: string[] = []
    let isFirst = true
    const gate = {
      admit: (): MaybePromise<Admission> => {
        if (!isFirst) return new Promise(() => {})
        isFirst = false
        return { kind: 'admitted', ended: (kind) => void ended.push(kind) }
      },
    }
    const app = await startApp((_, response) => response.end(Buffer.alloc(200_000)))
    const { port, gateway } = await startGateway(app, { gate, bounds: { keepAliveMs } })
    const talk = talkTo(port, PREFACE + GET_FRAME)
    await until('its window is full', () => talk.text().length > 65_535)
    let flood = ''
    for (let stream = 3; stream < 3_203; stream += 2) flood += getFrame(stream) + resetFrame(stream)
    talk.socket.write(flood, 'latin1')
    const goaway = '\x00\x00\x08\x07\x00\x00\x00\x00\x00'
    await until('it is notified', () => talk.text().includes(goaway))
    talk.socket.end(last, 'latin1')
    await until('it is forgotten', () => gateway.stats.connections === 0)
    expect([gateway.stats.requests, ended]).toEqual([0, ['abort']])
  })
})

/** ThinkingGate never decides, and hears when a client leaves. */
class ThinkingGate {
  isAsked = false
  hasLeft = false

  admit(request: { onLeave(run: () => void): void }): Promise<never> {
    this.isAsked = true
    request.onLeave(() => (this.hasLeft = true))
    return new Promise(() => {})
  }
}

describe('a client of HTTP/1.1 that no one reads from, and that leaves', () => {
  it.each([
    ['ends', (talk: Talk) => void talk.socket.end()],
    ['is destroyed', (talk: Talk) => void talk.socket.destroy()],
    ['is reset', (talk: Talk) => void talk.socket.resetAndDestroy()],
  ])('is missed while the gate thinks about its upload: it %s', async (_, leave) => {
    const clock = new ManualClock()
    const gate = new ThinkingGate()
    const { port, gateway } = await startGateway('http://127.0.0.1:9', { clock, gate, route: ROUTE })
    const talk = talkTo(port, UPLOAD + 'x'.repeat(100_000))
    await until('it has to wait', () => gateway.inFlight()[0]?.isClientPaused)
    leave(talk)
    await until('the gate hears of it', () => {
      clock.advance(100)
      return gate.hasLeft
    })
    expect(gateway.stats.requests).toBe(0)
    await until('its connection is closed', () => gateway.stats.connections === 0)
  })

  it('is missed while an upstream does not take its upload, which is given up there', async () => {
    const clock = new ManualClock()
    const gate = new RecordingGate()
    let upstream: Socket | undefined
    const app = await startRaw((socket) => {
      upstream = socket.pause()
    })
    const { port, gateway } = await startGateway(app, { clock, gate, route: ROUTE })
    const talk = talkTo(port, UPLOAD)
    await sendUntilPaused(talk, gateway, 'send')
    talk.socket.destroy()
    await until('it is given up', () => {
      clock.advance(50)
      return gateway.stats.requests === 0
    })
    expect(gate.ended).toEqual(['abort'])
    upstream?.resume()
    await until('the upstream hears of it', () => upstream?.readableEnded || upstream?.destroyed)
  })

  it('is missed while its other requests wait for its first', async () => {
    const gate = new RecordingGate()
    let isGivenUp = false
    const app = await startApp((request) => {
      request.on('close', () => (isGivenUp = true))
    })
    const clock = new ManualClock()
    const { port, gateway } = await startGateway(app, { clock, gate, route: ROUTE })
    const talk = talkTo(port, `GET / HTTP/1.1\r\n${H}\r\n`.repeat(4_000))
    await until('the first has come', () => gateway.inFlight()[0]?.phase === 'wait')
    talk.socket.destroy()
    await until('it is given up', () => {
      clock.advance(100)
      return isGivenUp
    })
    expect([gate.admitted, gate.ended]).toEqual([1, ['abort']])
  })

  it('is missed behind a WebSocket whose upstream does not read', async () => {
    const clock = new ManualClock()
    const gate = new RecordingGate()
    const app = await startRaw((socket) => {
      socket.once('data', () => {
        socket.pause()
        socket.write(SWITCHING)
      })
    })
    const { port, gateway } = await startGateway(app, { clock, gate, route: ROUTE })
    const talk = talkTo(port, `GET / HTTP/1.1\r\n${H}${SOCKET_FIELDS}\r\n`)
    await until('it is accepted', () => talk.text().includes('101'))
    await sendUntilPaused(talk, gateway, 'tunnel')
    talk.socket.resetAndDestroy()
    await until('it is given up', () => {
      clock.advance(50)
      return gateway.stats.requests === 0
    })
    expect(gate.ended).toEqual(['abort'])
  })
})
