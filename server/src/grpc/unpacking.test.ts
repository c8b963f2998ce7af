import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../net/manual-clock.suite.ts'
import { resolveLimits } from './limits.ts'
import { Unpacking } from './unpacking.ts'

const ADDRESS = '192.0.2.1'

function start(limits: Parameters<typeof resolveLimits>[0] = {}) {
  const clock = new ManualClock()
  const unpacking = new Unpacking(resolveLimits({ maxMessageBytes: 4_194_304, ...limits }), () => clock.nowMs())
  /** A connection counts how many of so many messages are unpacked. */
  const connect = (address = ADDRESS) => {
    const budget = unpacking.connectionBudget()
    return (message: Uint8Array, times = 1): number => {
      let unpacked = 0
      for (let i = 0; i < times; i++) if (unpacking.unpack(message, budget, address) instanceof Uint8Array) unpacked++
      return unpacked
    }
  }
  const unpack = (message: Uint8Array) => unpacking.unpack(message, unpacking.connectionBudget(), ADDRESS)
  return { clock, connect, unpack }
}

/** A message that says that it is as long as that. */
function lying(message: Buffer, sizeBytes: number): Buffer {
  const liar = Buffer.from(message)
  liar.writeUInt32LE(sizeBytes, liar.length - 4)
  return liar
}

describe('a message of gzip', () => {
  it.each([0, 1, 63, 64, 65_536, 600_000, 1_048_576])('of %i bytes is unpacked', (size) => {
    const plain = Buffer.from(Array.from({ length: size }, (_, i) => (i * 7 + i / 256) & 255))
    expect(Buffer.compare(start().unpack(gzipSync(plain)) as Uint8Array, plain)).toBe(0)
  })

  it.each<[string, number, object]>([
    ['maxUnpackedBytes', 1_048_576, {}],
    ['maxMessageBytes', 1_000, { maxMessageBytes: 1_000 }],
  ])('is refused unread above %s', (_, most, limits) => {
    const { unpack } = start(limits)
    expect(unpack(gzipSync(Buffer.alloc(most + 1)))).toEqual({
      status: 8,
      message: `a message of ${most + 1} bytes; at most ${most} are allowed`,
    })
    expect(unpack(gzipSync(Buffer.alloc(most)))).toBeInstanceOf(Uint8Array)
  })

  const zipped = gzipSync(Buffer.alloc(1_000, 'x'))
  it.each([
    ['says that it is shorter than it is', lying(zipped, 10)],
    ['says that it is empty', lying(zipped, 0)],
    ['says that it is longer than it is', lying(zipped, 60_000)],
    ['was cut', zipped.subarray(0, -1)],
    ['was damaged', Buffer.concat([zipped.subarray(0, 12), Buffer.of(99), zipped.subarray(13)])],
    ['has fewer bytes than any', zipped.subarray(0, 17)],
    ['is empty', Buffer.alloc(0)],
    ['is two', Buffer.concat([zipped, zipped])],
  ])('that %s is refused', (_, message) => {
    expect(start().unpack(message)).toMatchObject({ status: 13 })
  })
})

describe('what messages may unpack to', () => {
  const bomb = gzipSync(Buffer.alloc(1_048_576))
  // 15 blocks of 64 KiB beyond what is free, and 64 a second for a connection, 256 for an address, 1,024 for all.

  it('is bounded for a connection, and refilled', () => {
    const { clock, connect } = start()
    const unpacked = connect()
    expect(unpacked(bomb, 100)).toBe(4)
    expect(unpacked(gzipSync(Buffer.alloc(65_536)), 100)).toBe(100)
    clock.advance(500)
    expect(unpacked(bomb, 100)).toBe(2)
  })

  it('is bounded for an address, however many connections it has', () => {
    const { connect } = start()
    const unpacked = Array.from({ length: 100 }, () => connect()(bomb, 4))
    expect(unpacked.reduce((sum, each) => sum + each)).toBe(17)
    expect(connect('192.0.2.2')(bomb, 4)).toBe(4)
  })

  it('is bounded for all, and addresses that cannot be distinguished are forgotten one by one', () => {
    const { clock, connect } = start()
    const all = (count: number): number => {
      let unpacked = 0
      for (let i = 0; i < count; i++) unpacked += connect(`10.0.${i >> 8}.${i & 255}`)(bomb, 1)
      return unpacked
    }
    expect(all(3_000)).toBe(68)
    expect(connect('10.0.11.183')(bomb, 1)).toBe(0)
    clock.advance(1_000)
    expect(all(3_000)).toBe(68)
  })

  it('is free for what unpacks to 16 times what was sent', () => {
    const plain = Buffer.concat(
      Array.from({ length: 10 }, () => Buffer.concat([randomBytes(4_000), Buffer.alloc(30_000)])),
    )
    const packed = gzipSync(plain)
    expect(plain.length / packed.length).toBeLessThan(16)
    expect(start().connect()(packed, 1_000)).toBe(1_000)
  })
})
