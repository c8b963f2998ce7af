import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatIp, type IpAddress } from './ip.ts'
import { ipKey } from './ip-key.ts'

describe('ipKey', () => {
  it.each([
    ['an IPv4 address as it is', '203.0.113.7', '203.0.113.7'],
    ['a mapped one as IPv4, and not as the block that all of them are in', '::ffff:1.2.3.4', '1.2.3.4'],
    ['a mapped one in hexadecimal', '::ffff:102:304', '1.2.3.4'],
    ['a mapped one in full', '0:0:0:0:0:FFFF:0102:0304', '1.2.3.4'],
    ['an IPv6 address that only ends like IPv4', '2001:db8::1.2.3.4', '2001:db8::/64'],
    ['IPv6 by its /64', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['the loopback', '::1', '::/64'],
    ['an address with a zone', 'fe80::1%eth0', 'fe80::/64'],
    ['an address with a port', '203.0.113.7:47011', '203.0.113.7'],
    ['an address in brackets', '[2001:db8::1]', '2001:db8::/64'],
    ['an address in brackets with a port', '[2001:db8::1]:443', '2001:db8::/64'],
    ['an obfuscated port', '203.0.113.7:_x.Y-9', '203.0.113.7'],
  ])('formats %s', (_, text, key) => {
    expect(ipKey(text)).toBe(key)
  })

  it.each([
    '',
    'unknown',
    '_hidden',
    'example.com',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '1.2.3.4:',
    '1.2.3.4:x',
    '[1.2.3.4]',
    '[::1',
    '[::1]x',
    '::1]:443',
    '[::1]:',
    '1.2.3.4 ',
    '1.2.3.4%eth0',
    `${'1'.repeat(100)}`,
    '2001:db8::1::2',
  ])('takes %j for no address', (text) => {
    expect(ipKey(text)).toBeUndefined()
  })

  it.each([
    [{ ipv6Prefix: 48 }, '2001:db8:1:2::1', '2001:db8:1::/48'],
    [{ ipv6Prefix: 128 }, '2001:db8:1:2::1', '2001:db8:1:2::1'],
    [{ ipv4Prefix: 24 }, '203.0.113.7', '203.0.113.0/24'],
    [{ ipv4Prefix: 24 }, '::ffff:203.0.113.7', '203.0.113.0/24'],
    [{ ipv6Prefix: 8 }, '::ffff:203.0.113.7', '203.0.113.7'],
  ])('cuts at %j', (options, text, key) => {
    expect(ipKey(text, options)).toBe(key)
  })

  const word = fc.nat(0xffffffff)

  it('gives all addresses of a /64 one key, and different ones different keys', () => {
    const prefix = fc.tuple(word, word).filter(([a, b]) => a !== 0 || b !== 0)
    fc.assert(
      fc.property(prefix, prefix, word, word, ([a, b], [c, d], e, f) => {
        const key = (...words: IpAddress): string | undefined => ipKey(formatIp(words))
        expect(key(a, b, e, f)).toBe(key(a, b, f, e))
        if (a !== c || b !== d) expect(key(a, b, e, f)).not.toBe(key(c, d, e, f))
      }),
    )
  })

  it('keeps all IPv4 addresses apart, however they are written', () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        const hex = (value: number): string => `::ffff:${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`
        expect(ipKey(hex(a))).toBe(formatIp([0, 0, 0xffff, a]))
        expect(ipKey(hex(a)) === ipKey(hex(b))).toBe(a === b)
      }),
    )
  })
})
