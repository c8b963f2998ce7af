import { describe, expect, it } from 'vitest'
import { MAX_LINE_BYTES, textBlocks } from './text-blocks.ts'

async function* chunksOf(text: string | Buffer, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(text: string | Buffer, size: number) {
  let all = ''
  let tooLong = 0
  let endByte = 0
  for await (const block of textBlocks(chunksOf(text, size))) {
    all += block.text
    tooLong += block.tooLong
    expect(block.endByte).toBeGreaterThan(endByte)
    endByte = block.endByte
  }
  return { all, tooLong, endByte }
}

describe('textBlocks', () => {
  it('reads the same lines whatever the sizes of chunks, also within a character', async () => {
    const text = 'eins\nzwölf 🎉\n\r\nohne Ende'
    for (let size = 1; size <= 40; size++) {
      expect(await read(text, size)).toEqual({ all: text, tooLong: 0, endByte: Buffer.byteLength(text) })
    }
  })

  it('passes over lines that are too long, without holding them, and goes on behind them', async () => {
    const long = 'x'.repeat(3 * MAX_LINE_BYTES)
    const text = `a\n${long}\nb\n${long}`
    for (const size of [1_000, MAX_LINE_BYTES, 2 * MAX_LINE_BYTES]) {
      const { all, tooLong } = await read(text, size)
      expect(all.split('\n').filter((line) => line.length <= MAX_LINE_BYTES && line !== '')).toEqual(['a', 'b'])
      expect(tooLong + all.split('\n').filter((line) => line.length > MAX_LINE_BYTES).length).toBe(2)
    }
  })

  it('reads bytes that are no text', async () => {
    const { all } = await read(Buffer.from([0xff, 0xfe, 0x0a, 0x41, 0x0a]), 2)
    expect(all).toBe('\ufffd\ufffd\nA\n')
  })
})
