import { afterEach, describe, expect, it } from 'vitest'
import { ECHO, type EchoServer, startEcho } from '../grpc/echo-server.ts'
import { call, frame, settings, Type, uint32 } from '../grpc/wire.ts'
import { Attacker, Bystander, odd } from './attacker.suite.ts'

// What one frame may say about all streams must not cost a look at all streams for each time it says so.

const INITIAL_WINDOW = 4
const STREAMS = 1_024
const ENHANCE_YOUR_CALM = 11

let echo: EchoServer

afterEach(() => echo.close())

/** Has an attacker whose window is 0 make as many calls as it may, whose answers all wait. */
async function withWaitingAnswers(): Promise<Attacker> {
  echo = await startEcho()
  const attacker = await Attacker.begin(echo.address, [INITIAL_WINDOW, 0])
  attacker.send(...Array.from({ length: STREAMS }, (_, i) => call(odd(i), ECHO.unary, Buffer.alloc(20))))
  await attacker.read()
  expect(echo.stats.streamsOpen).toBe(STREAMS)
  return attacker
}

/** A SETTINGS frame that sets the window of new streams so many times, to values that differ. */
const windows = (times: number): Buffer =>
  settings(...Array.from({ length: times }, (_, i) => [INITIAL_WINDOW, i % 2] as const))

describe('SETTINGS that set the window of all streams', () => {
  it('many times in a frame end the connection before a single stream is looked at', async () => {
    const attacker = await withWaitingAnswers()
    const bystander = await Bystander.connect(echo.address, ECHO.unary)
    const before = echo.stats.streamsWalked
    attacker.send(...Array.from({ length: 45 }, () => windows(2_730)))
    expect(await bystander.call()).toBe('0')
    await attacker.read()
    expect(attacker.goaway).toBe(ENHANCE_YOUR_CALM)
    expect(echo.stats.streamsWalked - before).toBe(0)
    expect(echo.stats.closedFor.settings).toBe(1)
    expect(await bystander.call()).toBe('0')
  })

  it('as often as a frame may are followed once for each frame', async () => {
    const attacker = await withWaitingAnswers()
    const before = echo.stats.streamsWalked
    const frames = 20
    attacker.send(...Array.from({ length: frames }, () => windows(32)))
    await attacker.read()
    expect(attacker.goaway).toBeUndefined()
    // Each look at a stream may be followed by one turn of sending.
    expect(echo.stats.streamsWalked - before).toBeLessThanOrEqual(2 * frames * STREAMS)
  })

  it('that change nothing are free, however many streams wait', async () => {
    const attacker = await withWaitingAnswers()
    const before = echo.stats.streamsWalked
    attacker.send(...Array.from({ length: 40 }, () => settings([INITIAL_WINDOW, 0])))
    await attacker.read()
    expect(attacker.goaway).toBeUndefined()
    expect(echo.stats.streamsWalked - before).toBe(0)
  })

  it('are not paid for by calls: a busy client may send no more of them than an idle one', async () => {
    echo = await startEcho()
    const attacker = await Attacker.begin(echo.address)
    for (let i = 0; i < 60; i++) attacker.send(call(odd(i), ECHO.unary, Buffer.alloc(1)), settings())
    await attacker.read()
    expect(attacker.goaway).toBe(ENHANCE_YOUR_CALM)
    expect(echo.stats.closedFor.settings).toBe(1)
  })

  it('twice in a frame mean the second', async () => {
    const attacker = await withWaitingAnswers()
    attacker.send(settings([INITIAL_WINDOW, 0], [INITIAL_WINDOW, 65_535]))
    await attacker.read()
    expect(attacker.statuses).toEqual({ 0: STREAMS })
  })
})

describe('WINDOW_UPDATE of a connection', () => {
  it('costs a few looks each, however many streams wait', async () => {
    const attacker = await withWaitingAnswers()
    // All may send now but for the connection's window, of which nothing is left after the first few.
    const before = echo.stats.streamsWalked
    const updates = 5_000
    attacker.send(...Array.from({ length: updates }, () => frame(Type.WINDOW_UPDATE, 0, 0, uint32(1))))
    await attacker.read()
    expect(attacker.goaway).toBeUndefined()
    expect(echo.stats.streamsWalked - before).toBeLessThanOrEqual(2 * updates + STREAMS)
  })

  it('of one byte at a time costs a few looks for each byte that it lets through', async () => {
    echo = await startEcho()
    const attacker = await Attacker.begin(echo.address)
    // The first answers take the whole window of the connection; the others wait for it.
    const large = Buffer.alloc(16_000)
    attacker.send(...Array.from({ length: 200 }, (_, i) => call(odd(i), ECHO.unary, large)))
    await attacker.read()
    const before = echo.stats.streamsWalked
    const updates = 5_000
    attacker.send(...Array.from({ length: updates }, () => frame(Type.WINDOW_UPDATE, 0, 0, uint32(1))))
    await attacker.read()
    expect(attacker.goaway).toBeUndefined()
    expect(echo.stats.streamsWalked - before).toBeLessThanOrEqual(2 * updates + STREAMS)
  })
})
