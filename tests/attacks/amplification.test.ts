import { Limiter } from 'sluice/internal/engine/limiter'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Callers } from '../../server/src/edge/callers/callers.ts'
import { LeaseTokens } from '../../server/src/edge/leases/lease-tokens.ts'
import { registerLimiter } from '../../server/src/edge/limiter/limiter-door.ts'
import { registerRls } from '../../server/src/edge/rls/rls-door.ts'
import { MAX_MESSAGE_BYTES } from '../../server/src/edge/rls/rls-request.ts'
import { encodedOnce, HpackEncoder, mostEncodedBytes } from '../../server/src/grpc/hpack/hpack-encoder.ts'
import { codecOf } from '../../server/src/protobuf/protos.suite.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { type EchoServer, startEcho } from '../grpc/echo-server.ts'
import { answersOf, callFields, END_HEADERS, END_STREAM, frame, prefixed, Type } from '../grpc/wire.ts'
import { Attacker, Bystander, odd } from './attacker.suite.ts'

// A few bytes must not be answered with many, nor have many things made.

const CHECK = '/sluice.v1.Limiter/Check'
const CHECK_REQUEST = codecOf('sluice.v1.CheckRequest')

let echo: EchoServer

afterEach(() => echo.close())

/** A call whose message needs several frames. */
function longCall(stream: number, path: string, message: Uint8Array): Buffer[] {
  const bytes = prefixed(message)
  const frames = [frame(Type.HEADERS, END_HEADERS, stream, encodedOnce(callFields(path)))]
  for (let at = 0; at < bytes.length; at += 16_384) {
    const isLast = at + 16_384 >= bytes.length
    frames.push(frame(Type.DATA, isLast ? END_STREAM : 0, stream, bytes.subarray(at, at + 16_384)))
  }
  return frames
}

/** Has a server read bytes, and returns how many it has written for each that it has read. */
async function amplificationOf(attacker: Attacker, bytes: readonly Buffer[]): Promise<number> {
  const { bytesRead, bytesWritten } = echo.stats
  attacker.send(...bytes)
  await attacker.read()
  return (echo.stats.bytesWritten - bytesWritten) / (echo.stats.bytesRead - bytesRead)
}

describe('a long path that no one serves, sent once and then named by one byte', () => {
  it.each([
    ['plain text', 'a'],
    ['bytes that a status message encodes with three each', '\xff'],
  ])('is not repeated in every answer: %s', async (_, character) => {
    echo = await startEcho()
    const attacker = await Attacker.begin(echo.address, [4, 0x7fff_ffff])
    const encoder = new HpackEncoder()
    const calls = Array.from({ length: 200 }, (_each, i) => {
      const fields = callFields(`/x/${character.repeat(1_900)}`)
      const out = Buffer.alloc(mostEncodedBytes(fields))
      const block = out.subarray(0, encoder.encode(fields, out, 0))
      const message = frame(Type.DATA, END_STREAM, odd(i), prefixed(Buffer.alloc(0)))
      return Buffer.concat([frame(Type.HEADERS, END_HEADERS, odd(i), block), message])
    })
    expect(await amplificationOf(attacker, calls.slice(0, 1))).toBeLessThan(1)
    expect(await amplificationOf(attacker, calls.slice(1))).toBeLessThan(20)
    expect(attacker.statuses).toEqual({ 12: 200 })
    attacker.leave()
  })
})

describe('limits that a request brings itself', () => {
  const limits = (requests: number, descriptors: number) => ({
    requests: Array.from({ length: requests }, (_, i) => ({
      domain: 'api',
      descriptors: Array.from({ length: descriptors }, (_each, n) => ({
        entries: [{ key: 'a', value: 'b' }],
        limit: { requestsPerUnit: 1 + i * descriptors + n, unit: 'UNIT_MINUTE' },
      })),
    })),
  })

  async function startLimiter(): Promise<void> {
    const rules = loadRules([{ file: 'api.yaml', text: 'domain: api\ndescriptors: []\n' }])
    const limiter = new Limiter(() => rules, new MemoryStore())
    echo = await startEcho({ limits: { maxMessageBytes: MAX_MESSAGE_BYTES } })
    registerLimiter(echo.server, limiter, { leases: new LeaseTokens(), callers: new Callers({ trustAll: true }) })
    registerRls(echo.server, limiter)
  }

  it('may be as many as requests in a message', async () => {
    await startLimiter()
    const client = await Bystander.connect(echo.address, CHECK)
    expect(await client.call(CHECK_REQUEST.encode(limits(256, 1)))).toBe('0')
    client.leave()
  })

  it.each([
    [257, 5, 52],
    [4_096, 64, 64],
  ])('are refused unread by the limiter where a message has more: %i', async (_, requests, descriptors) => {
    await startLimiter()
    const check = vi.spyOn(Limiter.prototype, 'check')
    const attacker = await Attacker.begin(echo.address)
    attacker.send(...longCall(1, CHECK, CHECK_REQUEST.encode(limits(requests, descriptors))))
    await attacker.read()
    expect(answersOf(attacker.frames).get(1)?.trailers).toEqual(
      expect.arrayContaining(['grpc-status: 3', expect.stringContaining('LIMITS_TOO_MANY')]),
    )
    expect(check).not.toHaveBeenCalled()
    check.mockRestore()
    attacker.leave()
  })
})
