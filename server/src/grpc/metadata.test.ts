import { describe, expect, it } from 'vitest'
import { Metadata, requireMetadata } from './metadata.ts'

describe('Metadata', () => {
  const metadata = new Metadata(['a', '1', 'b', '2', 'a', '3', 'raw-bin', 'AP8=,AAE'])

  it('gives the first value of a name, and all fields in their order', () => {
    expect([metadata.get('a'), metadata.get('b'), metadata.get('A')]).toEqual(['1', '2', undefined])
    expect([...metadata.entries()].map(([name]) => name)).toEqual(['a', 'b', 'a', 'raw-bin'])
  })

  it('decodes the first of several binary values, padded or not', () => {
    expect([...metadata.getBinary('raw-bin')!]).toEqual([0, 255])
    expect([...new Metadata(['raw-bin', 'AP8,AAE']).getBinary('raw-bin')!]).toEqual([0, 255])
  })
})

describe('requireMetadata', () => {
  it('takes text, and bytes for names that end in -bin', () => {
    expect(requireMetadata('x-a_b.c', ' text ')).toEqual({ name: 'x-a_b.c', value: 'text' })
    expect(requireMetadata('grpc-status-details-bin', Uint8Array.of(0)).value).toBe('AA')
    expect(requireMetadata('x-bin', Uint8Array.of(0, 255))).toEqual({ name: 'x-bin', value: 'AP8' })
  })

  it.each([
    ['X-Test', 'a', '"X-Test" cannot be set'],
    ['', 'a', '"" cannot be set'],
    [':status', 'a', '":status" cannot be set'],
    ['grpc-status', '0', 'grpc-status cannot be set: it is reserved for the server'],
    ['content-type', 'a', 'content-type cannot be set: it is reserved for the server'],
    ['connection', 'close', 'connection cannot be set: it is reserved for the server'],
    ['te', 'trailers', 'te cannot be set: it is reserved for the server'],
    ['upgrade', 'h2c', 'upgrade cannot be set: it is reserved for the server'],
    ['transfer-encoding', 'a', 'transfer-encoding cannot be set: it is reserved for the server'],
    ['x', 'a\nb', 'x: a value may have only the characters from space to "~"'],
    ['x', 'ä', 'x: a value may have only the characters from space to "~"'],
    ['x-bin', 'text', 'x-bin: names that end in -bin need bytes, all others need a string'],
    ['x', Uint8Array.of(1), 'x: names that end in -bin need bytes, all others need a string'],
  ])('refuses %s: %j', (name, value, rule) => {
    expect(() => requireMetadata(name, value)).toThrow(rule)
  })
})
