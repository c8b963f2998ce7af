import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cidr, formatIp, type IpAddress, isV4, parseCidr, parseIp } from '../identity/ip.ts'
import { CidrIndex } from './cidr-index.ts'

function indexOf(...blocks: string[]): CidrIndex<string> {
  const index = new CidrIndex<string>()
  for (const block of blocks) index.add(parseCidr(block) as Cidr, block)
  return index
}

describe('CidrIndex', () => {
  const blocks = ['0.0.0.0/0', '10.0.0.0/8', '10.1.0.0/16', '10.1.2.0/24', '10.1.2.3/32', '::/0', '2001:db8::/32']
  const index = indexOf(...blocks, '2001:db8:1::/48', '2001:db8:1:2::/64', '2001:db8:1:2::3/128', '::1/128')

  it.each<[value: string, block: string | undefined]>([
    ['10.1.2.3', '10.1.2.3/32'],
    ['10.1.2.4', '10.1.2.0/24'],
    ['10.1.3.0', '10.1.0.0/16'],
    ['10.255.255.255', '10.0.0.0/8'],
    ['11.0.0.0', '0.0.0.0/0'],
    ['::ffff:10.1.2.3', '10.1.2.3/32'],
    ['::ffff:a01:203', '10.1.2.3/32'],
    ['::FFFF:0A01:0204', '10.1.2.0/24'],
    ['0:0:0:0:0:ffff:11.0.0.0', '0.0.0.0/0'],
    ['2001:db8:1:2::3', '2001:db8:1:2::3/128'],
    ['2001:DB8:1:2:0:0:0:4', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1::/48'],
    ['2001:db8:2::', '2001:db8::/32'],
    ['2001:db8::10.1.2.3', '2001:db8::/32'],
    ['::10.1.2.3', '::/0'],
    ['::1', '::1/128'],
    ['fe80::1', '::/0'],
    ['', undefined],
    ['10.1.2', undefined],
    ['10.1.2.03', undefined],
    ['10.1.2.3/32', undefined],
    ['fe80::1%eth0', undefined],
    ['localhost', undefined],
    ['__proto__', undefined],
    ['1'.repeat(1_000_000), undefined],
  ])('finds for %s the block %s', (value, block) => {
    expect(index.find(value)).toBe(block)
  })

  it.each<[address: string, inner: string, outer: string]>([
    ['10.0.0.255', '10.0.0.255/32', '10.0.0.0/24'],
    ['10.0.0.0', '10.0.0.0/32', '10.0.0.0/24'],
    ['10.255.255.255', '10.255.255.0/24', '10.0.0.0/8'],
    ['255.255.255.255', '255.255.255.255/32', '0.0.0.0/0'],
    ['2001:db8::ffff', '2001:db8::ffff/128', '2001:db8::/112'],
    ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'ffff::/16', '::/0'],
  ])('finds for %s, at the edge of both, %s inside of %s', (address, inner, outer) => {
    const others = ['9.0.0.0/8', '11.0.0.0/8', '12.0.0.0/8', '2001:db7::/32', '2001:db9::/32', '2001:dba::/32']
    expect(indexOf(inner, outer, ...others).find(address)).toBe(inner)
    expect(indexOf(...others, outer, inner).find(address)).toBe(inner)
  })

  it('finds no IPv4 address in a block of IPv6', () => {
    const v6 = indexOf('::/0', '::/64', '::/80')
    expect(['10.1.2.3', '::ffff:10.1.2.3', '::1', '1::'].map((each) => v6.find(each))).toEqual([
      undefined,
      undefined,
      '::/80',
      '::/0',
    ])
    expect(indexOf('::ffff:0:0/96').find('10.1.2.3')).toBe('::ffff:0:0/96')
  })

  it('says when a block is there already, in any form', () => {
    const blocks = new CidrIndex<string>()
    const add = (block: string): boolean => blocks.add(parseCidr(block) as Cidr, block)
    expect(['10.0.0.0/8', '10.0.0.0/9', '10.9.9.9/8', '::ffff:10.0.0.0/104', '::/8'].map(add)).toEqual([
      true,
      true,
      false,
      false,
      true,
    ])
    expect(blocks.targets).toEqual(['10.0.0.0/8', '10.0.0.0/9', '::/8'])
  })

  it('finds what a search through all blocks finds', () => {
    // Few different bits, so that blocks lie in each other, and often begin or end together.
    const word = fc.constantFrom(0, 1, 0x80000000, 0xffff, 0xffffffff)
    const edge = fc.constantFrom(0, 0xfffffffe, 0xffffffff)
    const address = fc.oneof(
      fc.tuple(word, word, word, word),
      fc.tuple(fc.constant(0), fc.constant(0), fc.constantFrom(0, 0xffff), edge),
    ) as fc.Arbitrary<IpAddress>
    const block = fc.record({ ip: address, bits: fc.integer({ min: 0, max: 128 }) })
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), fc.array(address, { minLength: 1, maxLength: 8 }), (all, ips) => {
        const index = new CidrIndex<number>()
        all.forEach(({ ip, bits }, i) => {
          index.add(parseCidr(`${inV6(ip)}/${bits}`) as Cidr, i)
        })
        const edges = all.flatMap(({ ip, bits }) => [edgeOf(ip, bits, 0), edgeOf(ip, bits, 1)])
        for (const ip of [...ips, ...edges]) expect(index.find(formatIp(ip))).toBe(naive(all, ip))
      }),
      { numRuns: 1_000 },
    )
  })
})

const inV6 = (ip: IpAddress): string =>
  ip.flatMap((each) => [each >>> 16, each & 0xffff].map((x) => x.toString(16))).join(':')
/** The first or the last address of a block. */
const edgeOf = (ip: IpAddress, bits: number, bit: 0 | 1): IpAddress => {
  const text = bitsOf(ip).slice(0, bits).padEnd(128, String(bit))
  return [0, 32, 64, 96].map((at) => Number.parseInt(text.slice(at, at + 32), 2)) as unknown as IpAddress
}
const bitsOf = (ip: IpAddress): string => ip.map((each) => each.toString(2).padStart(32, '0')).join('')

/** Looks at all blocks, and returns the first of the longest. */
function naive(all: readonly { ip: IpAddress; bits: number }[], ip: IpAddress): number | undefined {
  let best: number | undefined
  all.forEach((block, i) => {
    const holds = bitsOf(ip).startsWith(bitsOf(block.ip).slice(0, block.bits)) && (block.bits >= 96 || !isV4(ip))
    if (holds && (best === undefined || block.bits > all[best].bits)) best = i
  })
  return best
}

it('reads the addresses of this test', () => {
  expect(parseIp(inV6([1, 2, 3, 0xffffffff]))).toEqual([1, 2, 3, 0xffffffff])
})
