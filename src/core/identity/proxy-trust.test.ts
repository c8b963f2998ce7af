import { describe, expect, it } from 'vitest'
import { ProxyTrust, type ProxyTrustOptions } from './proxy-trust.ts'

const PROXY = '10.0.0.1'

describe('ProxyTrust', () => {
  const private10: ProxyTrustOptions = { trustedProxies: ['10.0.0.0/8'] }

  it.each<[string, ProxyTrustOptions, string, string | undefined, string]>([
    ['the peer, without a field', private10, PROXY, undefined, PROXY],
    ['the peer, when it is no proxy, whatever it says', private10, '203.0.113.9', '192.0.2.1', '203.0.113.9'],
    ['what the proxy added', private10, PROXY, '203.0.113.7', '203.0.113.7'],
    ['the rightmost that is no proxy, not the leftmost', private10, PROXY, '1.1.1.1, 203.0.113.7', '203.0.113.7'],
    ['over several proxies', private10, PROXY, '1.1.1.1, 203.0.113.7, 10.0.0.3,10.0.0.2', '203.0.113.7'],
    ['the leftmost, when all are proxies', private10, PROXY, '10.9.9.9, 10.0.0.2', '10.9.9.9'],
    ['the last that is known, before nonsense', private10, PROXY, '203.0.113.7, nonsense, 10.0.0.2', '10.0.0.2'],
    ['the last that is known, before nothing', private10, PROXY, '203.0.113.7, , 10.0.0.2', '10.0.0.2'],
    ['with a port', private10, PROXY, '203.0.113.7:4711', '203.0.113.7:4711'],
    ['IPv6 in brackets', private10, PROXY, '[2001:db8::1]:4711', '[2001:db8::1]:4711'],
    ['through a mapped proxy', private10, '::ffff:10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['one hop', { trustedProxies: 1 }, PROXY, '1.1.1.1, 203.0.113.7', '203.0.113.7'],
    ['two hops', { trustedProxies: 2 }, PROXY, '1.1.1.1, 203.0.113.7, 172.16.0.1', '203.0.113.7'],
    ['more hops than there are', { trustedProxies: 9 }, PROXY, '1.1.1.1, 203.0.113.7', '1.1.1.1'],
    ['no hop', { trustedProxies: 0 }, PROXY, '203.0.113.7', PROXY],
    ['nobody', { trustedProxies: [] }, PROXY, '203.0.113.7', PROXY],
    ['names of blocks', { trustedProxies: ['loopback', 'uniquelocal'] }, '::1', '203.0.113.7, fd00::1', '203.0.113.7'],
  ])('takes %s', (_, options, peer, field, client) => {
    expect(new ProxyTrust(options).clientAddress(peer, field)).toBe(client)
  })

  // The first and the last address of each block, and the neighbours of both.
  it.each<[name: string, inside: string[], outside: string[]]>([
    ['loopback', ['127.0.0.0', '127.255.255.255', '::1'], ['126.255.255.255', '128.0.0.0', '::2', '::']],
    [
      'linklocal',
      ['169.254.0.0', '169.254.255.255', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
      ['169.253.255.255', '169.255.0.0', 'fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fec0::'],
    ],
    [
      'uniquelocal',
      ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255', 'fc00::'],
      ['9.255.255.255', '11.0.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255', '192.169.0.0', 'fe00::'],
    ],
    ['uniquelocal', ['fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'], ['fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
  ])('trusts by the name %s %j, and not %j', (name, inside, outside) => {
    const trust = new ProxyTrust({ trustedProxies: [name] })
    const trusts = (peer: string): boolean => trust.clientAddress(peer, '203.0.113.7') === '203.0.113.7'
    expect(inside.filter(trusts)).toEqual(inside)
    expect(outside.filter(trusts)).toEqual([])
  })

  it.each([
    ['for=203.0.113.7', '203.0.113.7'],
    ['for=1.1.1.1, for="[2001:db8::7]:4711";proto=https', '[2001:db8::7]:4711'],
    ['for=203.0.113.7, for=10.0.0.2', '203.0.113.7'],
    ['for=203.0.113.7, for=_secret, for=10.0.0.2', '10.0.0.2'],
    ['for=unknown', PROXY],
    ['proto=https', PROXY],
    ['for="1.1.1.1, for=203.0.113.7', PROXY],
  ])('reads Forwarded where it is configured to: %s', (field, client) => {
    const trust = new ProxyTrust({ ...private10, forwardedHeader: 'forwarded' })
    expect(trust.header).toBe('forwarded')
    expect(trust.clientAddress(PROXY, field)).toBe(client)
  })

  it('stays quick on a field of a megabyte', () => {
    const field = `${'10.0.0.2,'.repeat(100_000)}203.0.113.7`
    expect(new ProxyTrust(private10).clientAddress(PROXY, field)).toBe('203.0.113.7')
  })

  it.each<[object, string]>([
    [{ trustedProxies: true }, 'trustedProxies: got true'],
    [{ trustedProxies: -1 }, 'trustedProxies: got -1'],
    [{ trustedProxies: 33 }, 'trustedProxies: got 33'],
    [{ trustedProxies: ['everybody'] }, 'trustedProxies: got "everybody"'],
    [{ trustedProxies: ['10.0.0.0/33'] }, 'trustedProxies: got "10.0.0.0/33"'],
    [{ trustedProxies: 1, forwardedHeader: 'x-real-ip' }, 'forwardedHeader: got "x-real-ip"'],
  ])('refuses %j', (options, message) => {
    expect(() => new ProxyTrust(options as ProxyTrustOptions)).toThrow(`PROXY_TRUST_INVALID: ${message}`)
  })
})
