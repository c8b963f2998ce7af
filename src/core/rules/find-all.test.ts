import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatIp, type IpAddress, parseCidr } from '../identity/ip.ts'
import { CidrIndex } from './cidr-index.ts'
import { WildcardIndex } from './wildcard-index.ts'

// find is fast, findAll tries everything: the first that findAll returns is what find returns.

describe('findAll', () => {
  it('returns the wildcards that match, in file order, and find the first of them', () => {
    const text = (characters: string, maxLength: number): fc.Arbitrary<string> =>
      fc.string({ unit: fc.constantFrom(...characters), maxLength })
    const pattern = fc.tuple(text('ab*', 5), text('ab*', 5)).map((parts) => parts.join('*'))
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 20 }), text('abc', 8), (patterns, value) => {
        const index = new WildcardIndex<number>()
        patterns.forEach((each, i) => {
          index.add(each, i)
        })
        const all = index.findAll(value)
        expect(all).toEqual([...all].sort((a, b) => a - b))
        expect(index.find(value)).toBe(all[0])
      }),
      { numRuns: 1_000 },
    )
  })

  it('returns the blocks that an address lies in, the smallest first, and find the first of them', () => {
    const near = fc.integer({ min: 0, max: 7 })
    const v4 = fc.tuple(near, near).map(([a, b]): IpAddress => [0, 0, 0xffff, ((a << 29) | b) >>> 0])
    const v6 = fc.tuple(near, near, near).map(([a, b, c]): IpAddress => [(a << 29) >>> 0, (b << 29) >>> 0, 0xffff, c])
    const address = fc.oneof(v4, v6).map(formatIp)
    const block = fc.tuple(address, fc.nat(128)).map(([ip, bits]) => `${ip}/${ip.includes(':') ? bits : bits >> 2}`)
    fc.assert(
      fc.property(fc.array(block, { maxLength: 30 }), fc.array(address, { maxLength: 10 }), (blocks, addresses) => {
        const index = new CidrIndex<string>()
        for (const each of blocks) index.add(parseCidr(each)!, each)
        for (const each of addresses) {
          const all = index.findAll(each)
          const bits = all.map((found) => Number(found.split('/')[1]))
          expect(bits).toEqual([...bits].sort((a, b) => b - a))
          expect(index.find(each)).toBe(all[0])
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('returns nothing for what is no address', () => {
    const index = new CidrIndex<string>()
    index.add(parseCidr('0.0.0.0/0')!, 'all')
    expect([index.findAll('10.0.0'), index.findAll('::1'), index.findAll('10.0.0.1')]).toEqual([[], [], ['all']])
  })
})
