import { describe, expect, it } from 'vitest'
import { CommandWriter } from './command-writer.ts'

const encoded = (...args: (string | Uint8Array)[]): string => {
  const writer = new CommandWriter()
  writer.write(args)
  return writer.take().toString('latin1')
}

describe('CommandWriter', () => {
  it('writes a command as a list of texts with their lengths', () => {
    expect(encoded('SET', 'key', '')).toBe('*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n')
  })

  it('counts bytes, not characters', () => {
    expect(encoded('é😀')).toBe(`*1\r\n$6\r\n${Buffer.from('é😀').toString('latin1')}\r\n`)
    expect(encoded('a\r\né')).toBe(`*1\r\n$5\r\n${Buffer.from('a\r\né').toString('latin1')}\r\n`)
  })

  it('takes bytes as they are', () => {
    expect(encoded(Buffer.from([0, 13, 10, 255]))).toBe('*1\r\n$4\r\n\0\r\n\xff\r\n')
  })

  it.each([9, 10, 99, 100, 1_000, 65_536])('formats a length of %d', (length) => {
    const text = 'x'.repeat(length)
    expect(encoded(text)).toBe(`*1\r\n$${length}\r\n${text}\r\n`)
    expect(encoded(Buffer.from(text))).toBe(`*1\r\n$${length}\r\n${text}\r\n`)
  })

  it('has room for many arguments, and for one that is large and not in ASCII', () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `argument ${i}`)
    expect(encoded(...many)).toBe(`*5000\r\n${many.map((text) => `$${text.length}\r\n${text}\r\n`).join('')}`)
    const large = 'ü'.repeat(700_000)
    expect(encoded(large)).toBe(`*1\r\n$1400000\r\n${Buffer.from(large).toString('latin1')}\r\n`)
  })

  it('lends what was written, and uses the bytes again when they have been read', () => {
    const writer = new CommandWriter()
    writer.write(['A'])
    const first = writer.lend()
    expect([first.toString(), writer.length]).toEqual(['*1\r\n$1\r\nA\r\n', 0])
    writer.giveBack(true)
    writer.write(['B'])
    expect(writer.lend()).toBe(first)
    expect(first.toString()).toBe('*1\r\n$1\r\nB\r\n')
  })

  it('leaves alone what was lent and is still read', () => {
    const writer = new CommandWriter()
    writer.write(['A'])
    const first = writer.lend()
    writer.giveBack(false)
    writer.write(['B'])
    expect([first.toString(), writer.lend().toString()]).toEqual(['*1\r\n$1\r\nA\r\n', '*1\r\n$1\r\nB\r\n'])
  })

  it('lends much, and little after it', () => {
    const writer = new CommandWriter()
    for (const text of ['x'.repeat(3_000_000), 'short', 'x'.repeat(600)]) {
      writer.write([text])
      expect(writer.lend().toString()).toBe(`*1\r\n$${text.length}\r\n${text}\r\n`)
      writer.giveBack(true)
    }
  })

  it('restarts with each take, and what was taken stays as it is', () => {
    const writer = new CommandWriter()
    writer.write(['A'])
    writer.write(['B'])
    const first = writer.take()
    writer.write(['C'])
    expect(writer.take().toString()).toBe('*1\r\n$1\r\nC\r\n')
    expect(first.toString()).toBe('*1\r\n$1\r\nA\r\n*1\r\n$1\r\nB\r\n')
  })
})
