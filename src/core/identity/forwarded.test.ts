import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { forwardedFor } from './forwarded.ts'

describe('forwardedFor', () => {
  it.each<[string, readonly (string | undefined)[]]>([
    ['for=192.0.2.43', ['192.0.2.43']],
    ['For="[2001:db8:cafe::17]:4711"', ['[2001:db8:cafe::17]:4711']],
    ['for=192.0.2.60;proto=http;by=203.0.113.43', ['192.0.2.60']],
    ['for=192.0.2.43, for=198.51.100.17', ['192.0.2.43', '198.51.100.17']],
    ['proto=https; FOR = 1', []],
    ['proto=https', [undefined]],
    ['for=_hidden, for=unknown', ['_hidden', 'unknown']],
    ['for="a\\"b,c;d"', ['a"b,c;d']],
    ['for=192.0.2.43,for=[2001:db8::1]', ['192.0.2.43', '[2001:db8::1]']],
    ['  for=a ;proto=b ,  by=c', ['a', undefined]],
    ['host="a, for=1.1.1.1";for=2.2.2.2', ['2.2.2.2']],
  ])('reads %s', (field, nodes) => {
    expect(forwardedFor(field)).toEqual(nodes)
  })

  it.each([
    ['a quote that is left open', 'for="1.1.1.1, for=2.2.2.2'],
    ['a quote that the client left open before what proxies added', 'for="x, for=203.0.113.7'],
    ['a name without a value', 'for'],
    ['an empty value', 'for='],
    ['two of them in one element', 'for=1.1.1.1;for=2.2.2.2'],
    ['text after a quoted value', 'for="1.1.1.1"x'],
    ['more than 8 KiB', `for=1.1.1.1, ${'for=2.2.2.2, '.repeat(1_000)}`],
  ])('believes nothing of a field with %s', (_, field) => {
    expect(forwardedFor(field)).toEqual([])
  })

  it('never throws', () => {
    const text = fc.string({ unit: fc.constantFrom('for=', '"', '\\', ',', ';', '=', ' ', 'a', '1.2.3.4', '[::1]') })
    fc.assert(fc.property(text, (field) => Array.isArray(forwardedFor(field))))
  })
})
