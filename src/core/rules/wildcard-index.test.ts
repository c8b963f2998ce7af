import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WildcardIndex } from './wildcard-index.ts'

function indexOf(patterns: readonly string[]): WildcardIndex<string> {
  const index = new WildcardIndex<string>()
  for (const pattern of patterns) index.add(pattern, pattern)
  return index
}

/** Says whether a value matches a pattern, character by character: a star is nothing, or one more character. */
function fits(pattern: string, value: string): boolean {
  if (pattern === '') return value === ''
  if (pattern[0] === '*') return fits(pattern.slice(1), value) || (value !== '' && fits(pattern, value.slice(1)))
  return pattern[0] === value[0] && fits(pattern.slice(1), value.slice(1))
}

describe('WildcardIndex', () => {
  it.each<[pattern: string, values: string[], others: string[]]>([
    ['*', ['', 'a', '*', 'a\nb', '😀'], []],
    ['**', ['', 'a'], []],
    ['a*', ['a', 'ab', 'a*', 'aa'], ['', 'b', 'ba', 'A']],
    ['*a', ['a', 'ba', '*a', 'aa'], ['', 'b', 'ab']],
    ['a*a', ['aa', 'aba', 'aaa'], ['a', 'ab', 'ba', '']],
    ['ab*ba', ['abba', 'abxba', 'ab ba'], ['aba', 'ab', 'ba', 'abb']],
    ['*a*', ['a', 'bab', 'aa'], ['', 'b']],
    ['a*b*c', ['abc', 'axbxc', 'abcbc', 'aabbcc'], ['ac', 'acb', 'bac', 'abcd']],
    ['*ab*ab*', ['abab', 'xabxabx', 'abbab'], ['ab', 'aab', 'abba']],
    ['a**b', ['ab', 'axb'], ['a', 'b']],
    ['a*.*', ['a.', 'ab.c', 'a..'], ['a', '.', 'ba.']],
    [
      '/users/*/orders',
      ['/users/1/orders', '/users//orders', '/users/1/2/orders'],
      ['/users/orders', '/users/1/order'],
    ],
    ['[a]*', ['[a]', '[a]b'], ['a', 'ab']],
    ['.*', ['.', '.a'], ['', 'a']],
    ['😀*', ['😀', '😀x'], ['😁', '\ud83d']],
    ['*__proto__*', ['__proto__', 'x__proto__'], ['proto', 'constructor']],
  ])('%s', (pattern, values, others) => {
    const index = indexOf([pattern])
    for (const value of values) expect([value, index.find(value)]).toEqual([value, pattern])
    for (const value of others) expect([value, index.find(value)]).toEqual([value, undefined])
  })

  it('takes the first pattern in the order they were added, wherever it is filed', () => {
    const patterns = ['*x*', 'a*', '*z', 'ab*', '*y*z', '*']
    const cases: [string, string][] = [
      ['axz', '*x*'],
      ['abz', 'a*'],
      ['byz', '*z'],
      ['b', '*'],
      ['', '*'],
    ]
    for (const [value, first] of cases) expect([value, indexOf(patterns).find(value)]).toEqual([value, first])
    for (const value of ['axz', 'abz', 'byz', 'b']) expect(indexOf(['*', ...patterns]).find(value)).toBe('*')
  })

  it('lists what its patterns lead to, in order', () => {
    expect(indexOf(['b*', '*a', '*c*', '*', '**']).targets).toEqual(['b*', '*a', '*c*', '*', '**'])
  })

  it('finds what a search through all patterns finds', () => {
    const text = (characters: string, maxLength: number): fc.Arbitrary<string> =>
      fc.string({ unit: fc.constantFrom(...characters), maxLength })
    const pattern = fc.tuple(text('ab*', 6), text('ab*', 6)).map(([start, end]) => `${start}*${end}`)
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 12 }), fc.array(text('abc*', 9), { minLength: 1 }), (all, values) => {
        const index = indexOf(all)
        for (const value of values) expect(index.find(value)).toBe(all.find((each) => fits(each, value)))
      }),
      { numRuns: 2_000 },
    )
  })

  it('looks at a value of 1 MB with many stars', () => {
    const index = indexOf([`*${'a*'.repeat(1_000)}b`, `*${'a'.repeat(100)}b*`, 'c*'])
    expect(index.find('a'.repeat(1_000_000))).toBeUndefined()
    expect(index.find(`${'a'.repeat(999_999)}b`)).toBe(`*${'a*'.repeat(1_000)}b`)
  })

  it('finds one pattern among very many', () => {
    const index = indexOf(Array.from({ length: 20_000 }, (_, i) => `/tenant-${i}/*`))
    expect([index.find('/tenant-19999/x'), index.find('/tenant-20000/x')]).toEqual(['/tenant-19999/*', undefined])
  })
})
