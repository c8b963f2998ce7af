import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { encodedOnce } from '../../server/src/grpc/hpack/hpack-encoder.ts'
import { DEFAULT_LIMITS } from '../../server/src/grpc/limits.ts'
import { ECHO, type EchoServer, startEcho } from '../grpc/echo-server.ts'
import { callFields, END_HEADERS, END_STREAM, frame, Type, uint32 } from '../grpc/wire.ts'
import { Attacker, Bystander, odd } from './attacker.suite.ts'

// A few compressed bytes must not cost what they unpack to, neither in memory nor in time.

const MIB = 1_048_576
const MESSAGES = { maxMessageBytes: 4 * MIB }
const PER_STREAM = 1_024

let echo: EchoServer

afterEach(() => echo.close())

/** A call with a compressed message of one frame. */
function packedCall(i: number, path: string, packed: Buffer): Buffer {
  const fields = callFields(path, { 'grpc-encoding': 'gzip' })
  const body = Buffer.concat([Buffer.of(1), uint32(packed.length), packed])
  return Buffer.concat([
    frame(Type.HEADERS, END_HEADERS, odd(i), encodedOnce(fields)),
    frame(Type.DATA, END_STREAM, odd(i), body),
  ])
}

/** An announcement is a message of 18 bytes that says that it unpacks to so many. */
const announcement = (bytes: number): Buffer =>
  Buffer.concat([gzipSync('').subarray(0, -4), Buffer.of(bytes, bytes >> 8, bytes >> 16, 0)])

describe('messages that unpack to a thousand times what was sent', () => {
  const bomb = gzipSync(Buffer.alloc(MIB))

  it('are unpacked up to a budget, and the connection serves on', async () => {
    echo = await startEcho({ limits: MESSAGES })
    echo.server.unary('/test.Attack/Drop', (call) => void call.fail(10))
    const attacker = await Attacker.begin(echo.address)
    const calls = 500
    for (let i = 0; i < calls; i++) attacker.send(packedCall(i, '/test.Attack/Drop', bomb))
    await attacker.read()
    // What comes back each second is so little that a slow machine, too, refuses most.
    expect(attacker.statuses['8']).toBeGreaterThan(calls / 2)
    expect(attacker.statuses['10']).toBe(echo.stats.calls)
    attacker.send(packedCall(calls, '/test.Attack/Drop', gzipSync('abc')))
    await attacker.read()
    expect(attacker.statuses).toMatchObject({ '8': calls + 1 - echo.stats.calls, '10': echo.stats.calls })
    expect(attacker.isClosed).toBe(false)
    attacker.leave()
  })

  it('are held up to a bound while their calls wait, on all connections together', async () => {
    const maxHeldBytes = 8 * MIB
    echo = await startEcho({ limits: { ...MESSAGES, maxHeldBytes } })
    const bystander = await Bystander.connect(echo.address, ECHO.unary)
    expect(await bystander.call()).toBe('0')
    for (let i = 0; i < 12; i++) {
      const attacker = await Attacker.connect(echo.address, `127.0.0.${i + 2}`)
      attacker.send(
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        frame(Type.SETTINGS, 0, 0),
        packedCall(0, ECHO.hold, bomb),
      )
      await attacker.read()
      expect(echo.stats.bytesHeld).toBeLessThanOrEqual(maxHeldBytes)
    }
    expect(echo.stats.closedFor.memory).toBeGreaterThan(0)
    expect(await bystander.call()).toBe('0')
    bystander.leave()
  })

  it.each([
    ['that say so, above the bound', announcement(MIB + 1), '8'],
    ['that only say so', announcement(MIB), '13'],
    ['that say less', Buffer.concat([bomb.subarray(0, -4), uint32(0)]), '13'],
  ])('%s are refused, and nothing of them is held', async (_, message, status) => {
    echo = await startEcho({ limits: MESSAGES })
    const attacker = await Attacker.begin(echo.address)
    attacker.send(packedCall(0, ECHO.hold, message))
    await attacker.read()
    expect(attacker.statuses).toEqual({ [status]: 1 })
    expect(echo.stats).toMatchObject({ calls: 0, streamsOpen: 0 })
    expect(echo.stats.bytesHeld).toBeLessThan(PER_STREAM * 8)
    attacker.leave()
  })
})

describe('messages of 4 MiB', () => {
  it('that never end are held up to three of them on a connection', async () => {
    echo = await startEcho({ limits: MESSAGES })
    const attacker = await Attacker.begin(echo.address)
    const piece = Buffer.alloc(16_384)
    const begin = Buffer.concat([Buffer.of(0), uint32(MESSAGES.maxMessageBytes), piece.subarray(5)])
    for (let i = 0; i < 8; i++) {
      attacker.send(frame(Type.HEADERS, END_HEADERS, odd(i), encodedOnce(callFields(ECHO.unary))))
      attacker.send(frame(Type.DATA, 0, odd(i), begin))
      for (let at = 0; at < 200; at++) attacker.send(frame(Type.DATA, 0, odd(i), piece))
      await attacker.read()
      expect(echo.stats.bytesHeld).toBeLessThan(3 * MESSAGES.maxMessageBytes + MIB)
    }
    expect(attacker.statuses['8']).toBeGreaterThanOrEqual(4)
    expect(DEFAULT_LIMITS.maxHeldBytes).toBeGreaterThan(4 * 3 * MESSAGES.maxMessageBytes)
    attacker.leave()
  })
})
