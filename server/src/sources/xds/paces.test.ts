import { describe, expect, it, vi } from 'vitest'
import { MessageAssembler } from './message-assembler.ts'
import { NackPace } from './nack-pace.ts'
import { WorkPace } from './work-pace.ts'

const framed = (message: Buffer, flag = 0): Buffer => {
  const head = Buffer.alloc(5)
  head[0] = flag
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

function messagesOf(chunks: readonly Buffer[], maxBytes = 100): string[] {
  const assembler = new MessageAssembler(maxBytes)
  const messages: string[] = []
  for (const chunk of chunks) {
    assembler.push(chunk)
    for (let next = assembler.next(); next !== undefined; next = assembler.next()) messages.push(next.toString())
  }
  return messages
}

describe('MessageAssembler', () => {
  const stream = Buffer.concat(['one', '', 'three', 'x'.repeat(100)].map((text) => framed(Buffer.from(text))))
  const expected = ['one', '', 'three', 'x'.repeat(100)]

  it.each([1, 2, 3, 5, 7, 64, 1_000])('makes the same messages of pieces of %i bytes', (size) => {
    const chunks = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) =>
      stream.subarray(i * size, (i + 1) * size),
    )
    expect(messagesOf(chunks)).toEqual(expected)
  })

  it('refuses a message that is too large before any of it has come', () => {
    expect(() => messagesOf([framed(Buffer.alloc(101)).subarray(0, 5)])).toThrow(
      'a message of 101 bytes, above the maximum of 100',
    )
  })

  it('refuses a packed message', () => {
    expect(() => messagesOf([framed(Buffer.alloc(1), 1)])).toThrow('a compressed message, which was not requested')
  })

  it('knows whether a message has begun', () => {
    const assembler = new MessageAssembler(100)
    expect(assembler.isWaiting).toBe(false)
    assembler.push(stream.subarray(0, 3))
    expect([assembler.next(), assembler.isWaiting]).toEqual([undefined, true])
    assembler.push(stream.subarray(3, 8))
    expect([assembler.next()?.toString(), assembler.isWaiting]).toEqual(['one', false])
  })
})

describe('NackPace', () => {
  it('refuses a version immediately, and again later and later', () => {
    const pace = new NackPace()
    expect(['a', 'a', 'a', 'a', 'a', 'a', 'a', 'b', 'b', 'a'].map((version) => pace.pauseMs(version))).toEqual([
      0, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 0, 1_000, 0,
    ])
    pace.forget()
    expect(pace.pauseMs('a')).toBe(0)
  })
})

describe('WorkPace', () => {
  it('rests four times as long as it worked, and at least a tenth of a second', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const pace = new WorkPace()
      const { signal } = new AbortController()
      const restsMs: number[] = []
      const rest = async (ms: number): Promise<void> => {
        restsMs.push(Math.round(ms))
        vi.advanceTimersByTime(ms)
      }
      const work = (ms: number) => pace.work(async () => void vi.advanceTimersByTime(ms), signal, rest)
      for (const ms of [0, 10, 1_000, 0]) await work(ms)
      expect(restsMs).toEqual([100, 100, 4_000])
      vi.advanceTimersByTime(5_000)
      await work(0)
      expect(restsMs).toHaveLength(3)
    } finally {
      vi.useRealTimers()
    }
  })
})
