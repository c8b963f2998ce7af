import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { GatewayRequest } from '../../server/src/edge/gateway/gate.ts'
import {
  exchangeBytes,
  ManualClock,
  RecordingGate,
  startApp,
  startGateway,
  startRaw,
  talkTo,
} from '../../server/src/edge/gateway/proxy/gateway.suite.ts'
import {
  data,
  END_HEADERS,
  END_STREAM,
  type Fields,
  headers,
  preface,
  reset,
  settings,
  windowUpdate,
} from '../../server/src/grpc/frame-script.suite.ts'
import { cut, type Frame, Type } from '../grpc/wire.ts'
import { until } from '../servers/until.mjs'

const ENHANCE_YOUR_CALM = 11
const REFUSED_STREAM = 7
const LAST = END_HEADERS | END_STREAM
const HEAD = { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'a' }
const ONE_MORE = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/** A client of HTTP/2 that writes frames as they are. */
class Session {
  readonly socket: Socket
  readonly frames: Frame[] = []
  isClosed = false
  #rest: Buffer = Buffer.alloc(0)

  /** `first` goes in one packet with what every connection begins with. */
  constructor(port: number, localAddress = '127.0.0.1', first: readonly Buffer[] = []) {
    this.socket = connect({ port, host: '127.0.0.1', localAddress })
    this.socket.on('error', () => {})
    this.socket.on('close', () => {
      this.isClosed = true
    })
    this.socket.on('data', (bytes: Buffer) => {
      const { frames, rest } = cut(Buffer.concat([this.#rest, bytes]))
      this.frames.push(...frames)
      this.#rest = rest
    })
    onTestFinished(() => void this.socket.destroy())
    this.write(preface, settings(), ...first)
  }

  write(...parts: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(parts))
  }

  /** Returns the codes with which streams were reset, by stream. */
  resets(): readonly (readonly [stream: number, code: number])[] {
    return this.frames
      .filter(({ type }) => type === Type.RST_STREAM)
      .map(({ stream, payload }) => [stream, payload.readUInt32BE(0)])
  }

  /** The code of the last GOAWAY. */
  get farewell(): number | undefined {
    return this.frames.findLast(({ type }) => type === Type.GOAWAY)?.payload.readUInt32BE(4)
  }
}

const idOf = (i: number): number => 2 * i + 1
const open = (i: number, fields: Fields = HEAD): Buffer => headers(idOf(i), fields, LAST)
const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

/** An upstream that answers nothing but /fine, and counts its connections. */
async function silentApp() {
  let connections = 0
  const url = await startRaw((socket) => {
    connections++
    socket.on('data', (bytes) => {
      if (bytes.includes('/fine')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine')
    })
  })
  return { url, connections: () => connections }
}

/** Looks in every turn of the event loop how much a count has grown, until the test ends, and returns the most. */
function perTurn(count: () => number): () => number {
  let [most, before, isOver] = [0, count(), false]
  const look = (): void => {
    const now = count()
    most = Math.max(most, now - before)
    before = now
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  onTestFinished(() => {
    isOver = true
  })
  return () => most
}

describe('streams of HTTP/2 that are reset', () => {
  const fine = (port: number) => exchangeBytes(port, ONE_MORE.replace('GET /', 'GET /fine'))

  it('in the same packet open no connection to the upstream, are not decided about, and end the connections', async () => {
    const app = await silentApp()
    const gate = new RecordingGate()
    const { port, gateway } = await startGateway(app.url, { gate, clock: new ManualClock() })
    const sessions = many(20, () => new Session(port))
    for (const each of sessions.slice(10)) await until('it is served', () => each.frames.length > 0)
    for (const each of sessions) each.write(...many(400, (i) => Buffer.concat([open(i), reset(idOf(i))])))
    expect(await fine(port)).toContain('200 OK')
    await until('they have to leave', () => sessions.every(({ isClosed }) => isClosed))
    expect(sessions.some(({ farewell }) => farewell === ENHANCE_YOUR_CALM)).toBe(true)
    await until('nothing is in flight', () => gateway.stats.requests === 0)
    expect([app.connections(), gate.admitted]).toEqual([1, 1])
  })

  it('in the first packet of a connection end it before anything is done for it', async () => {
    const { port, gateway } = await startGateway('http://127.0.0.1:9', { clock: new ManualClock() })
    const pairs = many(400, (i) => Buffer.concat([open(i), reset(idOf(i))]))
    const sessions = many(5, () => new Session(port, '127.0.0.1', pairs))
    await until('they have to leave', () => sessions.every(({ isClosed }) => isClosed))
    expect(sessions.flatMap(({ frames }) => frames)).toEqual([])
    expect(gateway.stats.connectionsEndedForResets).toBe(5)
  })

  it('right after they were decided about are counted by address, whatever their connection', async () => {
    const app = await silentApp()
    const gate = new RecordingGate()
    const { port, gateway } = await startGateway(app.url, { gate, clock: new ManualClock() })
    const sessions = many(10, () => new Session(port))
    const neighbour = new Session(port, '127.0.0.2')
    neighbour.write(open(0))
    await until('the neighbour waits', () => gateway.stats.requests === 1)
    for (let i = 0; i < 50; i++) {
      const present = sessions.filter(({ isClosed }) => !isClosed)
      const before = gate.admitted
      for (const each of present) each.write(open(i))
      await until('they are decided about', () => gate.admitted >= before + present.filter((s) => !s.isClosed).length)
      for (const each of present) each.write(reset(idOf(i)))
      await until('they are given up', () => gateway.stats.requests === 1)
    }
    await until('they have to leave', () => sessions.every(({ isClosed }) => isClosed))
    expect(new Set(sessions.map(({ farewell }) => farewell))).toEqual(new Set([ENHANCE_YOUR_CALM]))
    // A hundred, what each connection had open when its address had no more, and the neighbour.
    expect(gate.admitted).toBeLessThanOrEqual(100 + 2 * sessions.length + 1)
    expect(neighbour.isClosed).toBe(false)
    neighbour.write(open(1, { ...HEAD, ':path': '/fine' }))
    await until('the neighbour is answered', () => neighbour.frames.some(({ type }) => type === Type.DATA))
  })

  it('by us, because of frames that make us, count as well', async () => {
    const app = await silentApp()
    const { port } = await startGateway(app.url, { clock: new ManualClock() })
    const session = new Session(port)
    session.write(...many(400, (i) => Buffer.concat([open(i), windowUpdate(idOf(i), 0)])))
    await until('it has to leave', () => session.isClosed)
    expect(session.frames.length).toBeLessThan(200)
    expect(app.connections()).toBe(0)
  })

  it('by a client that waited a second do not count, nor as many as were answered', async () => {
    const app = await silentApp()
    const clock = new ManualClock()
    const { port, gateway } = await startGateway(app.url, {
      clock,
      bounds: { resetsPerAddress: { burst: 100, perSecond: 0 } },
    })
    const session = new Session(port)
    for (let i = 0; i < 150; i++) {
      session.write(open(i))
      await until('it is in flight', () => gateway.stats.requests === 1)
      clock.advance(1_000)
      session.write(reset(idOf(i)))
      await until('it is given up', () => gateway.stats.requests === 0)
    }
    for (let i = 150; i < 450; i += 2) {
      session.write(open(i, { ...HEAD, ':path': '/fine' }))
      const isAnswered = ({ type, stream, flags }: Frame) =>
        type === Type.DATA && stream === idOf(i) && (flags & 1) === 1
      await until('it is answered', () => session.frames.some(isAnswered))
      session.write(open(i + 1))
      await until('it is in flight', () => gateway.stats.requests === 1)
      session.write(reset(idOf(i + 1)))
      await until('it is given up', () => gateway.stats.requests === 0)
    }
    expect([session.isClosed, session.farewell]).toEqual([false, undefined])
  })

  it('by answers that cannot be sent are not the fault of the client', async () => {
    const gate = {
      admit: () => ({ kind: 'refused' as const, status: 429, headers: ['connection', 'close'], body: 'no' }),
    }
    const { port } = await startGateway('http://127.0.0.1:9', { gate, clock: new ManualClock() })
    const session = new Session(port)
    for (let i = 0; i < 150; i++) {
      session.write(open(i))
      await until('it is reset', () => session.resets().length === i + 1)
    }
    expect([session.isClosed, session.farewell]).toEqual([false, undefined])
  })

  it('by a trusted proxy have the budget of the process, and none of its address', async () => {
    const app = await silentApp()
    const { port, gateway } = await startGateway(app.url, {
      clock: new ManualClock(),
      trust: { trustedProxies: ['127.0.0.1'] },
    })
    const session = new Session(port)
    for (let i = 0; i < 300; i++) {
      session.write(open(i))
      await until('it is in flight', () => gateway.stats.requests === 1)
      session.write(reset(idOf(i)))
      await until('it is given up', () => gateway.stats.requests === 0)
    }
    expect([session.isClosed, session.farewell]).toEqual([false, undefined])
  })
})

describe('work in one turn of the event loop', () => {
  class CountingGate {
    asked = 0
    admit(_: GatewayRequest) {
      this.asked++
      return { kind: 'refused' as const, status: 429, headers: [], body: '' }
    }
  }

  it('is bounded however many streams come at the same time, and the next client is served in between', async () => {
    const gate = new CountingGate()
    const { port } = await startGateway('http://127.0.0.1:9', { gate })
    const sessions = many(20, () => new Session(port))
    const most = perTurn(() => gate.asked)
    for (const each of sessions) each.write(...many(100, (i) => open(i)))
    await until('all are answered', () => gate.asked === 2_000)
    expect(most()).toBeLessThanOrEqual(64)
  })

  it('is bounded however many requests of HTTP/1.1 come in one packet', async () => {
    const gate = new CountingGate()
    const { port } = await startGateway('http://127.0.0.1:9', { gate })
    const most = perTurn(() => gate.asked)
    const talks = many(4, () => talkTo(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(500)))
    await until('all are answered', () => gate.asked === 2_000)
    await until('all have their answers', () => talks.every((talk) => talk.text().split('HTTP/1.1 429').length === 501))
    // What each connection begins as it is read from, and what waits for its turn.
    expect(most()).toBeLessThanOrEqual(4 * 16 + 64)
  })

  it('is bounded however many connections come at the same time', async () => {
    const { gateway } = await startGateway('http://127.0.0.1:9')
    const sockets: Socket[] = []
    const server = createServer({ pauseOnConnect: true }, (socket) => sockets.push(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const sessions = many(200, () => new Session((server.address() as AddressInfo).port))
    await until('all have connected', () => sockets.length === 200)
    const served = () => gateway.connectionsInFlight().filter(({ version }) => version !== undefined).length
    const most = perTurn(served)
    for (const socket of sockets) gateway.accept(0, socket)
    await until('all are served', () => sessions.every(({ frames }) => frames.length > 0))
    expect(most()).toBeLessThanOrEqual(32)
  })
})

describe('large heads', () => {
  const crumbs = (count: number): Fields => [
    ...Object.entries(HEAD),
    ...many(count, (i): [string, string] => ['cookie', `c${i}=1`]),
  ]
  const large = (bytes: number): Fields => ({ ...HEAD, 'x-large': 'a'.repeat(bytes) })

  it('with more than 256 fields are refused before anybody decides; cookies in 200 crumbs pass', async () => {
    const seen: string[] = []
    const app = await startApp((request, response) => {
      seen.push(request.headers.cookie ?? '')
      response.end('ok')
    })
    const gate = new RecordingGate()
    const { port } = await startGateway(app, { gate })
    const session = new Session(port)
    session.write(open(0, crumbs(1_400)))
    await until('it is reset', () => session.resets().length === 1)
    session.write(open(1, crumbs(200)))
    await until('it is answered', () => session.frames.some(({ type }) => type === Type.DATA))
    expect([gate.admitted, session.resets()]).toEqual([1, [[1, ENHANCE_YOUR_CALM]]])
    expect(seen[0]?.split('; ')).toHaveLength(200)
    const many1 = `GET / HTTP/1.1\r\nHost: a\r\n${'X: 1\r\n'.repeat(256)}\r\n`
    expect(await exchangeBytes(port, many1)).toContain('431')
  })

  it('are held for one connection up to its bound: further streams are refused, and may be tried elsewhere', async () => {
    const app = await silentApp()
    const gate = new RecordingGate()
    const bounds = { maxHeldBytesPerConnection: 100_000 }
    const { port, gateway } = await startGateway(app.url, { gate, bounds, clock: new ManualClock() })
    const session = new Session(port)
    for (let i = 0; i < 8; i++) session.write(open(i, large(20_000)))
    await until('four are refused', () => session.resets().length === 4)
    expect(session.resets().map(([, code]) => code)).toEqual(many(4, () => REFUSED_STREAM))
    expect([gate.admitted, gateway.stats.requests]).toEqual([4, 4])
    expect(gateway.stats.heldBytes).toBeLessThanOrEqual(100_000)
    session.write(reset(1))
    await until('there is room for another', () => gateway.stats.requests === 3)
    session.write(open(8, large(20_000)))
    await until('it is in flight', () => gateway.stats.requests === 4)
  })

  it('are held for one address up to its bound, and its heaviest connections end', async () => {
    const app = await silentApp()
    const bounds = { maxHeldBytesPerAddress: 200_000 }
    const { port, gateway } = await startGateway(app.url, { bounds, clock: new ManualClock() })
    const neighbour = new Session(port, '127.0.0.2')
    neighbour.write(open(0, large(20_000)))
    const light = new Session(port)
    light.write(open(0))
    await until('they are in flight', () => gateway.stats.requests === 2)
    const sessions = many(10, () => new Session(port))
    for (const each of sessions) each.write(...many(2, (i) => open(i, large(20_000))))
    await until('some have to leave', () => sessions.filter(({ isClosed }) => isClosed).length >= 5)
    await until(
      'the others are in flight',
      () => gateway.stats.requests === 2 + 2 * sessions.filter((s) => !s.isClosed).length,
    )
    expect(gateway.stats.heldBytes).toBeLessThanOrEqual(200_000 + 21_000)
    expect([neighbour.isClosed, light.isClosed]).toEqual([false, false])
    for (const each of [...sessions, light, neighbour]) each.socket.destroy()
    await until('nothing is held', () => gateway.stats.heldBytes === 0)
  })

  it('of HTTP/1.1 are counted too, whether they are complete or not', async () => {
    const app = await silentApp()
    const bounds = { maxHeldBytes: 150_000, maxHeldBytesPerAddress: 100_000 }
    const { port, gateway } = await startGateway(app.url, { bounds, clock: new ManualClock() })
    const half = many(6, () => talkTo(port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(30_000)}`))
    await until('some have to leave', () => half.filter((talk) => talk.isClosed()).length >= 3)
    expect(gateway.stats.heldBytes).toBeLessThanOrEqual(100_000)
    for (const { socket } of half) socket.destroy()
    await until('nothing is held', () => gateway.stats.connections === 0 && gateway.stats.heldBytes === 0)
    const whole = many(6, () => talkTo(port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(30_000)}\r\n\r\n`))
    await until('some have to leave', () => whole.filter((talk) => talk.isClosed()).length >= 3)
    await until('the others are in flight', () => gateway.stats.requests === whole.filter((t) => !t.isClosed()).length)
    expect(gateway.stats.heldBytes).toBeLessThanOrEqual(100_000)
    for (const { socket } of whole) socket.destroy()
    await until('nothing is held', () => gateway.stats.connections === 0 && gateway.stats.heldBytes === 0)
  })
})

describe('trailers', () => {
  const POST = { ...HEAD, ':method': 'POST' }

  it('with more than 256 fields are refused', async () => {
    const app = await silentApp()
    const gate = new RecordingGate()
    const { port, gateway } = await startGateway(app.url, { gate })
    const session = new Session(port)
    session.write(headers(1, POST), data(1, 'x'))
    await until('it is in flight', () => gateway.stats.requests === 1)
    session.write(
      headers(
        1,
        many(300, (i): [string, string] => [`t${i}`, '1']),
        LAST,
      ),
    )
    await until('it is reset', () => session.resets().length === 1)
    await until('it is over', () => gateway.stats.requests === 0)
    expect(gate.ended).toEqual(['abort'])
  })

  it('are held within the bound of a connection', async () => {
    const app = await silentApp()
    const bounds = { maxHeldBytesPerConnection: 50_000 }
    const { port, gateway } = await startGateway(app.url, {
      bounds,
      gate: { admit: () => new Promise<never>(() => {}) },
    })
    const session = new Session(port)
    for (let i = 0; i < 5; i++)
      session.write(headers(idOf(i), POST), headers(idOf(i), { 't-1': 'a'.repeat(15_000) }, LAST))
    await until('two are refused', () => session.resets().length === 2)
    await until('the others wait', () => gateway.stats.requests === 3)
    expect(gateway.stats.heldBytes).toBeLessThanOrEqual(50_000)
  })

  it('that come with their request reach the upstream', async () => {
    let trailers: NodeJS.Dict<string> | undefined
    const app = await startApp((request, response) => {
      request.resume()
      request.on('end', () => {
        trailers = request.trailers
        response.end('ok')
      })
    })
    const { port } = await startGateway(app)
    const session = new Session(port)
    session.write(headers(1, { ...POST, te: 'trailers' }), data(1, 'x'), headers(1, { 'x-sum': '1' }, LAST))
    await until('it is answered', () => session.frames.some(({ type }) => type === Type.DATA))
    expect(trailers).toEqual({ 'x-sum': '1' })
  })
})

describe('connections', () => {
  it('of one address are bounded, and others’ and trusted proxies’ are not', async () => {
    const app = await silentApp()
    const warnings: string[] = []
    const log = {
      info() {},
      error() {},
      warn: (event: string, text: string) => void warnings.push(`${event}: ${text}`),
    }
    const { port, gateway } = await startGateway(app.url, {
      bounds: { maxConnectionsPerAddress: 16 },
      trust: { trustedProxies: ['127.0.0.3'] },
      log,
    })
    const crowd = many(40, () => new Session(port))
    await until('the others are refused', () => crowd.filter(({ isClosed }) => isClosed).length === 24)
    expect(gateway.stats.connections).toBe(16)
    const others = [
      ...many(16, () => new Session(port, '127.0.0.2')),
      ...many(30, () => new Session(port, '127.0.0.3')),
    ]
    await until('all others are served', () => others.every(({ frames }) => frames.length > 0))
    expect(gateway.stats.connectionsRefused).toBe(24)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/^gateway.client_ended: 127\.0\.0\.1: it has as many connections as it may \(16\)/)
    crowd[0]?.socket.destroy()
    for (const each of crowd) each.socket.destroy()
    await until('there is room again', () => gateway.stats.connections === 46)
    const next = new Session(port)
    await until('it is served', () => next.frames.length > 0)
  })
})
