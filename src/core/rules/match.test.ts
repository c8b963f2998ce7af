import { describe, expect, it } from 'vitest'
import type { Entry } from '../request.ts'
import { compileObjects } from './compile.ts'
import { match } from './match.ts'
import type { Domain } from './rule-set.ts'
import type { DescriptorRule } from './schema.ts'

const limit = (name: string) => ({ name, unit: 'minute', requests_per_unit: 1 }) as const
const rule = (name: string) => ({ rate_limit: limit(name) })

/** Returns the names of the rules that apply to entries, written as [key, value]. */
function namesFor(descriptors: DescriptorRule[], ...entries: [key: string, value: string][]): string[] {
  const domain = compileObjects([{ domain: 'd', descriptors }]).domains.get('d') as Domain
  const parsed = entries.map(([key, value]): Entry => ({ key, value }))
  return match(domain, parsed).map(({ name }) => name)
}

const TREE: DescriptorRule[] = [
  {
    key: 'user',
    ...rule('any user'),
    descriptors: [
      { key: 'path', ...rule('any path') },
      { key: 'path', value: '/login', ...rule('login') },
      { key: 'path', value: '/deep', descriptors: [{ key: 'method', value: 'POST', ...rule('deep post') }] },
    ],
  },
  {
    key: 'user',
    value: 'root',
    ...rule('root'),
    descriptors: [{ key: 'path', value: '/admin', ...rule('root admin') }],
  },
  { key: 'ip', ...rule('any ip') },
  { key: 'blocked', value: 'yes', ...rule('blocked') },
]

describe('match', () => {
  it.each<[string, [string, string][], string[]]>([
    ['finds a bare key, whatever the value', [['user', 'alice']], ['any user']],
    ['finds a bare key for an empty value', [['user', '']], ['any user']],
    ['prefers the exact value to the bare key', [['user', 'root']], ['root']],
    [
      'prefers it deeper down too',
      [
        ['user', 'alice'],
        ['path', '/login'],
      ],
      ['login'],
    ],
    [
      'falls back to the bare key deeper down',
      [
        ['user', 'alice'],
        ['path', '/'],
      ],
      ['any path'],
    ],
    [
      'does not turn back where the exact value leads nowhere',
      [
        ['user', 'root'],
        ['path', '/login'],
      ],
      [],
    ],
    [
      'follows the exact value only',
      [
        ['user', 'root'],
        ['path', '/admin'],
      ],
      ['root admin'],
    ],
    [
      'applies no rule that is shallower than the descriptor',
      [
        ['ip', '1.2.3.4'],
        ['path', '/'],
      ],
      [],
    ],
    [
      'applies no rule that is deeper than the descriptor',
      [
        ['user', 'alice'],
        ['path', '/deep'],
      ],
      [],
    ],
    [
      'goes through levels without a limit',
      [
        ['user', 'a'],
        ['path', '/deep'],
        ['method', 'POST'],
      ],
      ['deep post'],
    ],
    [
      'does not mix up the order of entries',
      [
        ['path', '/login'],
        ['user', 'alice'],
      ],
      [],
    ],
    ['finds nothing for another value where there is no bare key', [['blocked', 'no']], []],
    ['finds nothing for an unknown key', [['tenant', 'a']], []],
    ['compares keys and values exactly', [['User', 'alice']], []],
    ['finds nothing for no entries', [], []],
  ])('%s', (_, entries, expected) => {
    expect(namesFor(TREE, ...entries)).toEqual(expected)
  })

  const INHERITED = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf', 'prototype']

  it.each(INHERITED)('finds nothing for the key or the value %s, unless a rule names it', (name) => {
    expect(namesFor(TREE, [name, name])).toEqual([])
    expect(namesFor(TREE, ['blocked', name])).toEqual([])
    expect(namesFor(TREE, ['user', name])).toEqual(['any user'])
    expect(namesFor(TREE, ['user', name], [name, name])).toEqual([])
  })

  it.each(INHERITED)('takes the key and the value %s like any other', (name) => {
    const named: DescriptorRule[] = [
      { key: name, ...rule('bare'), descriptors: [{ key: 'a', ...rule('below') }] },
      { key: name, value: name, ...rule('exact') },
    ]
    expect(namesFor(named, [name, 'x'])).toEqual(['bare'])
    expect(namesFor(named, [name, name])).toEqual(['exact'])
    expect(namesFor(named, [name, 'x'], ['a', 'b'])).toEqual(['below'])
  })

  it('returns all limits of one pattern, in their order', () => {
    const several = { key: 'user', rate_limits: [limit('first'), limit('second'), limit('third')] }
    expect(namesFor([several], ['user', 'alice'])).toEqual(['first', 'second', 'third'])
  })

  it('does not see a disabled rule, nor those below it', () => {
    const disabled: DescriptorRule[] = [
      { key: 'user', ...rule('any user') },
      { key: 'user', value: 'root', enabled: false, ...rule('root'), descriptors: [{ key: 'path', ...rule('below') }] },
      { key: 'ip', enabled: false, ...rule('ip') },
      { key: 'tenant', enabled: true, ...rule('tenant') },
    ]
    expect(namesFor(disabled, ['user', 'root'])).toEqual(['any user'])
    expect(namesFor(disabled, ['user', 'root'], ['path', '/'])).toEqual([])
    expect(namesFor(disabled, ['ip', '1.2.3.4'])).toEqual([])
    expect(namesFor(disabled, ['tenant', 'a'])).toEqual(['tenant'])
  })

  const ADDRESSES: DescriptorRule[] = [
    { key: 'ip', ...rule('any ip') },
    { key: 'ip', value: '10.*', ...rule('wildcard') },
    { key: 'ip', cidr: '10.0.0.0/8', ...rule('10/8') },
    { key: 'ip', cidr: ['10.1.0.0/16', '2001:db8::/32'], ...rule('10.1/16 or 2001:db8/32') },
    { key: 'ip', value: '10.1.2.3', ...rule('exact') },
    { key: 'ip', cidr: '2001:db8:1::/48', descriptors: [{ key: 'path', ...rule('below a block') }] },
    { key: 'ip', cidr: '::/0', ...rule('IPv6') },
  ]

  it.each<[value: string, name: string[]]>([
    ['10.1.2.3', ['exact']],
    ['10.1.2.4', ['10.1/16 or 2001:db8/32']],
    ['10.2.0.0', ['10/8']],
    ['::ffff:10.1.2.4', ['10.1/16 or 2001:db8/32']],
    ['::ffff:a01:203', ['10.1/16 or 2001:db8/32']],
    ['2001:DB8:0:0::1', ['10.1/16 or 2001:db8/32']],
    ['2001:db8:1::1', []],
    ['2001:db9::', ['IPv6']],
    ['192.0.2.1', ['any ip']],
    ['10.1.2', ['wildcard']],
    ['10.1.2.3.4', ['wildcard']],
    ['10.01.2.3', ['wildcard']],
    ['10.1.2.3/32', ['wildcard']],
    ['unknown', ['any ip']],
    ['', ['any ip']],
    ['fe80::1%eth0', ['any ip']],
  ])('prefers the exact value, then the smallest block, then a wildcard: %s', (value, expected) => {
    expect(namesFor(ADDRESSES, ['ip', value])).toEqual(expected)
  })

  it('continues below a block', () => {
    expect(namesFor(ADDRESSES, ['ip', '2001:db8:1:2::3'], ['path', '/'])).toEqual(['below a block'])
    expect(namesFor(ADDRESSES, ['ip', '2001:db8:2::3'], ['path', '/'])).toEqual([])
  })

  it.each<[string, [string, string][], string[]]>([
    [
      'every level',
      [
        ['a', '1'],
        ['b', '1'],
        ['c', '1'],
      ],
      ['a', 'b', 'c'],
    ],
    [
      'the levels that have a limit',
      [
        ['a', '1'],
        ['x', '1'],
        ['c', '1'],
      ],
      ['a', 'x/c'],
    ],
    [
      'the levels up to the first that is not there',
      [
        ['a', '1'],
        ['b', '1'],
        ['y', '1'],
        ['c', '1'],
      ],
      ['a', 'b'],
    ],
    ['the first level alone', [['a', '1']], ['a']],
    [
      'nothing, where the first level is not there',
      [
        ['y', '1'],
        ['a', '1'],
      ],
      [],
    ],
    [
      'the exact level, and not the bare one',
      [
        ['a', '2'],
        ['b', '1'],
      ],
      ['a=2'],
    ],
    ['nothing without entries', [], []],
  ])('on the way down applies %s', (_, entries, expected) => {
    const below: DescriptorRule[] = [
      { key: 'b', ...rule('b'), descriptors: [{ key: 'c', ...rule('c') }] },
      { key: 'x', descriptors: [{ key: 'c', ...rule('x/c') }] },
    ]
    const descriptors = [
      { key: 'a', ...rule('a'), descriptors: below },
      { key: 'a', value: '2', ...rule('a=2') },
    ]
    const file = { domain: 'd', evaluate: 'path', descriptors } as const
    const domain = compileObjects([file]).domains.get('d') as Domain
    const parsed = entries.map(([key, value]): Entry => ({ key, value }))
    expect(match(domain, parsed).map(({ name }) => name)).toEqual(expected)
  })

  it.each<[string, string]>([
    ['not ASCII', '名前😀'],
    ['half a character', '\ud83d'],
    ['of one composed character', 'é'],
    ['of two characters that compose', 'e\u0301'],
    ['of control characters', '\0\r\n'],
    ['of separators', 'a|b=c/d#2'],
    ['of spaces', '  '],
    ['256 characters long', 'k'.repeat(256)],
  ])('compares keys and values exactly that are %s', (_, text) => {
    const descriptors: DescriptorRule[] = [
      { key: text, ...rule('bare') },
      { key: text, value: text, ...rule('exact') },
      { key: text, value: `${text}*`, ...rule('wildcard') },
    ]
    expect(namesFor(descriptors, [text, text])).toEqual(['exact'])
    expect(namesFor(descriptors, [text, `${text}x`])).toEqual(['wildcard'])
    expect(namesFor(descriptors, [text, `x${text}`])).toEqual(['bare'])
    expect(namesFor(descriptors, [`${text}x`, text])).toEqual([])
  })

  it('takes keys and values of 1 MB', () => {
    const huge = 'x'.repeat(1_000_000)
    expect(namesFor(TREE, [huge, huge])).toEqual([])
    expect(namesFor(TREE, ['user', huge])).toEqual(['any user'])
    expect(namesFor([{ key: 'user', value: 'x*x', ...rule('wildcard') }], ['user', huge])).toEqual(['wildcard'])
    expect(namesFor(ADDRESSES, ['ip', huge])).toEqual(['any ip'])
  })

  it('finds one rule among very many', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => ({ key: 'user', value: `u${i}`, ...rule(`rule ${i}`) }))
    expect(namesFor([...many, { key: 'user', ...rule('any') }], ['user', 'u19999'])).toEqual(['rule 19999'])
  })
})
