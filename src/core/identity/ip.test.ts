import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatIp, type IpAddress, isV4, maskIp, parseCidr, parseIp } from './ip.ts'

const word = fc.oneof(fc.constantFrom(0, 0xffff, 0xffff0000, 0xffffffff), fc.nat(0xffffffff))
const address = fc.tuple(word, word, word, word) as fc.Arbitrary<IpAddress>
const v4 = fc.nat(0xffffffff).map((value): IpAddress => [0, 0, 0xffff, value])

/** Writes an address as 128 digits. */
const bitsOf = (ip: IpAddress): string => ip.map((each) => each.toString(2).padStart(32, '0')).join('')

describe('parseIp', () => {
  // RFC 4291, section 2.2, and RFC 5952, sections 1 to 5: many spellings of few addresses.
  it.each<[spelling: string, canonical: string]>([
    ['ABCD:EF01:2345:6789:ABCD:EF01:2345:6789', 'abcd:ef01:2345:6789:abcd:ef01:2345:6789'],
    ['2001:DB8:0:0:8:800:200C:417A', '2001:db8::8:800:200c:417a'],
    ['2001:DB8::8:800:200C:417A', '2001:db8::8:800:200c:417a'],
    ['FF01:0:0:0:0:0:0:101', 'ff01::101'],
    ['FF01::101', 'ff01::101'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::1', '::1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['::', '::'],
    ['0:0:0:0:0:0:13.1.68.3', '::d01:4403'],
    ['::13.1.68.3', '::d01:4403'],
    ['0:0:0:0:0:FFFF:129.144.52.38', '129.144.52.38'],
    ['::FFFF:129.144.52.38', '129.144.52.38'],
    ['::ffff:102:304', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['0000:0000:0000:0000:0000:ffff:255.255.255.255', '255.255.255.255'],
    ['2001:db8::1.2.3.4', '2001:db8::102:304'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8::1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8::0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0db8::1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:0:1::1', '2001:db8::1:0:0:1'],
    ['2001:db8:0000:0:1::1', '2001:db8::1:0:0:1'],
    ['2001:DB8:0:0:1::1', '2001:db8::1:0:0:1'],
    ['2001:db8:aaaa:bbbb:cccc:dddd:eeee:0001', '2001:db8:aaaa:bbbb:cccc:dddd:eeee:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['0.0.0.0', '0.0.0.0'],
    ['192.0.2.1', '192.0.2.1'],
    ['255.255.255.255', '255.255.255.255'],
  ])('reads %s as %s', (spelling, canonical) => {
    const ip = parseIp(spelling)
    expect(ip && formatIp(ip)).toBe(canonical)
  })

  it.each([
    ...['', ' ', '1', '1.2.3', '1.2.3.4.5', '1.2.3.', '.1.2.3', '1..2.3', '256.1.1.1', '1.2.3.999', '1.2.3.-4'],
    ...['01.2.3.4', '1.2.3.04', '00.0.0.0', '0x1.2.3.4', '1.2.3.4 ', ' 1.2.3.4', '1.2.3.4\n', '1,2,3,4', '١.2.3.4'],
    ...['1.2.3.4:80', '1.2.3.4/32', '16909060', 'localhost', 'a.b.c.d'],
    ...[':', ':::', '1', '1:', ':1', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:8::', '::1:2:3:4:5:6:7:8'],
    ...['1::2::3', '12345::', '::g', '::1 ', '[::1]', '::1%eth0', 'fe80::1%1', '::1/128', '-1::', '+1::', '1_0::'],
    ...['1.2.3.4::', '1.2.3.4::1', '1:1.2.3.4::', '::1.2.3.4:1', '1:2:3:4:5:6:7:1.2.3.4', '::01.2.3.4', '::1.2.3'],
    ...['::ffff:1.2.3.4.5', '::ffff:256.1.1.1', '0'.repeat(46), `::${'0'.repeat(44)}`, '1.2.3.4'.repeat(100_000)],
  ])('does not read %j', (spelling) => {
    expect(parseIp(spelling)).toBeUndefined()
  })

  it('reads back every address that formatIp formats', () => {
    fc.assert(
      fc.property(fc.oneof(address, v4), (ip) => {
        expect(parseIp(formatIp(ip))).toEqual(ip)
      }),
      { numRuns: 2_000 },
    )
  })

  it('reads every form of an address as the same one', () => {
    const forms = (ip: IpAddress): string[] => {
      const groups = ip.flatMap((each) => [each >>> 16, each & 0xffff])
      const hex = groups.map((group) => group.toString(16))
      const tail = [24, 16, 8, 0].map((shift) => (ip[3] >>> shift) & 0xff).join('.')
      const padded = hex.map((group) => group.padStart(4, '0')).join(':')
      return [hex.join(':'), padded, padded.toUpperCase(), `${hex.slice(0, 6).join(':')}:${tail}`]
    }
    fc.assert(
      fc.property(fc.oneof(address, v4), (ip) => {
        for (const spelling of forms(ip)) expect(parseIp(spelling)).toEqual(ip)
      }),
    )
  })

  it('never throws, and what it reads has one canonical form', () => {
    const text = fc.string({ unit: fc.constantFrom(...'01289af:.%/ '), maxLength: 24 })
    fc.assert(
      fc.property(text, (spelling) => {
        const ip = parseIp(spelling)
        if (ip !== undefined) expect(parseIp(formatIp(ip))).toEqual(ip)
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('isV4', () => {
  it.each([
    ['1.2.3.4', true],
    ['::ffff:1.2.3.4', true],
    ['::ffff:102:304', true],
    ['::1.2.3.4', false],
    ['::fffe:102:304', false],
    ['1::ffff:102:304', false],
    ['2001:db8::1.2.3.4', false],
  ])('says of %s: %s', (spelling, expected) => {
    expect(isV4(parseIp(spelling) as IpAddress)).toBe(expected)
  })
})

describe('maskIp', () => {
  it('keeps the first bits and clears the others', () => {
    fc.assert(
      fc.property(address, fc.integer({ min: 0, max: 128 }), (ip, bits) => {
        expect(bitsOf(maskIp(ip, bits))).toBe(bitsOf(ip).slice(0, bits).padEnd(128, '0'))
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::'],
    ['2001:db8:1:2:3:4:5:6', 56, '2001:db8:1::'],
    ['1.2.3.4', 128, '1.2.3.4'],
    ['1.2.3.4', 96 + 24, '1.2.3.0'],
    ['255.255.255.255', 96 + 1, '128.0.0.0'],
    ['255.255.255.255', 96, '0.0.0.0'],
  ])('masks %s to %i bits as %s', (spelling, bits, expected) => {
    expect(formatIp(maskIp(parseIp(spelling) as IpAddress, bits))).toBe(expected)
  })

  it('keeps IPv4 addresses apart, however they are encoded, as long as it keeps 128 bits', () => {
    const masked = ['1.2.3.4', '::ffff:1.2.3.5', '::ffff:102:306'].map((each) =>
      maskIp(parseIp(each) as IpAddress, 128),
    )
    expect(masked.map(formatIp)).toEqual(['1.2.3.4', '1.2.3.5', '1.2.3.6'])
  })
})

describe('parseCidr', () => {
  it.each([
    ['10.0.0.0/8', '10.0.0.0', 104],
    ['10.1.2.3/8', '10.0.0.0', 104],
    ['0.0.0.0/0', '0.0.0.0', 96],
    ['192.0.2.1/32', '192.0.2.1', 128],
    ['192.0.2.1', '192.0.2.1', 128],
    ['::ffff:10.0.0.0/104', '10.0.0.0', 104],
    ['2001:db8::/32', '2001:db8::', 32],
    ['2001:db8::1.2.3.4/120', '2001:db8::102:300', 120],
    ['2001:db8::1', '2001:db8::1', 128],
    ['::/0', '::', 0],
  ])('reads %s', (spelling, base, bits) => {
    const block = parseCidr(spelling)
    expect([block && formatIp(block.base), block?.bits]).toEqual([base, bits])
  })

  it.each(['', '/', '/8', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/+8', '10.0.0.0/8 ', '10.0.0.0/08'])(
    'does not read %j',
    (spelling) => {
      expect(parseCidr(spelling)).toBeUndefined()
    },
  )

  it.each(['10.0.0.0/1e1', '10.0.0.0/8/8', '10.0.0/8', '::/129', '::1%eth0/64', '10.0.0.0/255.0.0.0', 'a/8'])(
    'does not read %j either',
    (spelling) => {
      expect(parseCidr(spelling)).toBeUndefined()
    },
  )
})
