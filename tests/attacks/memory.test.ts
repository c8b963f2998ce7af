import { afterEach, describe, expect, it } from 'vitest'
import { Health } from '../../server/src/edge/health/health.ts'
import { registerHealth } from '../../server/src/edge/health/health-door.ts'
import { MAX_WATCHES, MAX_WATCHES_OF_A_CONNECTION } from '../../server/src/edge/health/watch-bound.ts'
import { encodedOnce } from '../../server/src/grpc/hpack/hpack-encoder.ts'
import { DEFAULT_LIMITS } from '../../server/src/grpc/limits.ts'
import { ECHO, type EchoServer, startEcho } from '../grpc/echo-server.ts'
import { call, callFields, END_HEADERS, END_STREAM, frame, PADDED, prefixed, Type } from '../grpc/wire.ts'
import { until } from '../servers/until.mjs'
import { Attacker, Bystander, odd } from './attacker.suite.ts'

// Whatever a client leaves with the server is counted, and bounded.

const WATCH = '/grpc.health.v1.Health/Watch'
const STREAMS = 1_024
/** What a call takes beside its head: an allowance for each. */
const PER_STREAM = 1_024

let echo: EchoServer

afterEach(() => echo.close())

/** A field that is in no table, as it is: 0, a length, the name, a length of two bytes, the value. */
function literal(name: string, value: string): Buffer {
  const length = value.length - 127
  const sizes = Buffer.of(127, (length & 127) | 128, length >> 7)
  return Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), sizes, Buffer.from(value)])
}

/** A header block of 16 KB, each another: nothing of it can be shared. */
function largeHead(path: string, i: number, method = 'POST'): Buffer {
  const fields = callFields(path).map((field) => (field.name === ':method' ? { ...field, value: method } : field))
  const more = literal('x-large', String(i).padEnd(15_500, 'a'))
  return Buffer.concat([encodedOnce(fields), more])
}

const headOnly = (path: string, i: number): Buffer => frame(Type.HEADERS, END_HEADERS, odd(i), largeHead(path, i))
const wholeCall = (path: string, i: number): Buffer =>
  Buffer.concat([headOnly(path, i), frame(Type.DATA, END_STREAM, odd(i), prefixed(Buffer.alloc(0)))])

/** Sends what `make` makes, a few frames at a time, until the server has read it all. */
async function flood(attacker: Attacker, count: number, make: (i: number) => Buffer): Promise<void> {
  for (let i = 0; i < count; i += 64) {
    attacker.send(...Array.from({ length: Math.min(64, count - i) }, (_, n) => make(i + n)))
    await attacker.read()
  }
}

describe('large headers', () => {
  it('of calls that never get their message are held up to a bound, and further calls are refused', async () => {
    echo = await startEcho()
    const attacker = await Attacker.begin(echo.address)
    await flood(attacker, STREAMS, (i) => headOnly(ECHO.unary, i))
    expect(attacker.statuses['8']).toBeGreaterThan(STREAMS / 2)
    expect(echo.stats.bytesHeld).toBeGreaterThan(DEFAULT_LIMITS.maxPendingBytes / 2)
    expect(echo.stats.bytesHeld).toBeLessThan(DEFAULT_LIMITS.maxPendingBytes + PER_STREAM * STREAMS)
    const bystander = await Bystander.connect(echo.address, ECHO.unary)
    expect(await bystander.call()).toBe('0')
    attacker.leave()
    bystander.leave()
  })

  it('of requests that are no calls are held up to the same bound', async () => {
    echo = await startEcho()
    const attacker = await Attacker.begin(echo.address)
    await flood(attacker, STREAMS, (i) => frame(Type.HEADERS, END_HEADERS, odd(i), largeHead('/', i, 'GET')))
    expect(echo.stats.bytesHeld).toBeLessThan(DEFAULT_LIMITS.maxPendingBytes + PER_STREAM * STREAMS)
    attacker.leave()
  })

  it('of calls in flight are dropped when the handler has the call', async () => {
    echo = await startEcho()
    const attacker = await Attacker.begin(echo.address)
    await flood(attacker, STREAMS, (i) => wholeCall(ECHO.hold, i))
    expect(echo.held).toBe(STREAMS)
    expect(echo.stats.bytesHeld).toBeLessThan(PER_STREAM * STREAMS)
    attacker.leave()
  })

  it('of calls whose answers wait for a window are dropped as well', async () => {
    echo = await startEcho()
    const attacker = await Attacker.begin(echo.address, [4, 0])
    await flood(attacker, STREAMS, (i) => wholeCall(ECHO.unary, i))
    expect(echo.stats.streamsOpen).toBe(STREAMS)
    expect(echo.stats.bytesHeld).toBeLessThan(PER_STREAM * STREAMS)
    attacker.leave()
  })

  it('that a handler has read are counted until the call ends, and bounded like other calls', async () => {
    echo = await startEcho()
    echo.server.unary('/test.Attack/Reads', (call) => void call.metadata.get('x-large'))
    const attacker = await Attacker.begin(echo.address)
    await flood(attacker, STREAMS, (i) => wholeCall('/test.Attack/Reads', i))
    expect(attacker.statuses['8']).toBeGreaterThan(STREAMS / 2)
    expect(echo.stats.bytesHeld).toBeLessThan(DEFAULT_LIMITS.maxPendingBytes + PER_STREAM * STREAMS)
    attacker.leave()
  })

  it('are forgotten with their connection', async () => {
    echo = await startEcho()
    const attacker = await Attacker.begin(echo.address)
    await flood(attacker, 64, (i) => headOnly(ECHO.unary, i))
    attacker.leave()
    await until('the connection has ended', () => echo.stats.connectionsOpen === 0)
    expect(echo.stats.bytesHeld).toBe(0)
  })
})

describe('messages in pieces', () => {
  it('are counted with padding that is thrown away, not with what it weighs', async () => {
    echo = await startEcho()
    const attacker = await Attacker.begin(echo.address)
    // One byte of a message and 255 of padding in every frame.
    const padded = Buffer.concat([Buffer.of(255, 0), Buffer.alloc(255)])
    attacker.send(frame(Type.HEADERS, END_HEADERS, 1, encodedOnce(callFields(ECHO.unary))))
    attacker.send(...Array.from({ length: 4 }, () => frame(Type.DATA, PADDED, 1, padded)))
    await attacker.read()
    expect(echo.stats.bytesHeld).toBeLessThan(2 * PER_STREAM)
    attacker.leave()
  })
})

describe('Health/Watch, which never ends', () => {
  async function startHealth(): Promise<void> {
    echo = await startEcho()
    registerHealth(echo.server, new Health(), [])
  }

  it('is admitted a few times on a connection, and others are answered immediately', async () => {
    await startHealth()
    const attacker = await Attacker.begin(echo.address)
    await flood(attacker, STREAMS, (i) => wholeCall(WATCH, i))
    expect(echo.stats.streamsOpen).toBe(MAX_WATCHES_OF_A_CONNECTION)
    expect(attacker.statuses).toEqual({ 8: STREAMS - MAX_WATCHES_OF_A_CONNECTION })
    expect(echo.stats.bytesHeld).toBeLessThan(PER_STREAM * MAX_WATCHES_OF_A_CONNECTION)
    attacker.leave()
  })

  it('is admitted so many times in a process, and then said not to be there, so that clients continue without', async () => {
    await startHealth()
    const attackers = await Promise.all(
      Array.from({ length: MAX_WATCHES / MAX_WATCHES_OF_A_CONNECTION }, () => Attacker.begin(echo.address)),
    )
    const watches = Array.from({ length: MAX_WATCHES_OF_A_CONNECTION }, (_, i) => call(odd(i), WATCH, Buffer.alloc(0)))
    for (const attacker of attackers) attacker.send(...watches)
    await Promise.all(attackers.map((attacker) => attacker.read()))
    expect(echo.stats.streamsOpen).toBe(MAX_WATCHES)
    const bystander = await Bystander.connect(echo.address, WATCH)
    expect(await bystander.call()).toBe('12')
    // A watch that ends makes room for another.
    attackers[0].leave()
    await until('its connection has ended', () => echo.stats.connectionsOpen === attackers.length)
    const next = await Attacker.begin(echo.address)
    next.send(wholeCall(WATCH, 0))
    await next.read()
    expect(echo.stats.streamsOpen).toBe(MAX_WATCHES - MAX_WATCHES_OF_A_CONNECTION + 1)
    for (const each of [...attackers, next]) each.leave()
    bystander.leave()
  })
})
