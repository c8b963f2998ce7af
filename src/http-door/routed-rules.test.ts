import { describe, expect, it } from 'vitest'
import { compileObjects } from '../core/rules/compile.ts'
import { match } from '../core/rules/match.ts'
import type { Domain } from '../core/rules/rule-set.ts'
import type { RuleFile } from '../core/rules/schema.ts'
import { LOOSE, type Routing } from './request-path.ts'
import { RoutedRules } from './routed-rules.ts'

type Descriptors = NonNullable<RuleFile['descriptors']>

const limit = (name: string) => ({ name, unit: 'hour', requests_per_unit: 1 }) as const
const EXACT: Routing = { caseSensitive: true, strict: true }

/** Formats rules, and returns the names of those that apply to entries `key=value`. */
function namesOf(descriptors: Descriptors, routing: Routing, ...entries: string[]): string[] {
  const rules = compileObjects([{ domain: 'd', descriptors }])
  const domain = new RoutedRules().of(rules, 'd', routing).domains.get('d') as Domain
  const found = match(
    domain,
    entries.map((entry) => ({ key: entry.split('=')[0], value: entry.split('=')[1] })),
  )
  return found.map(({ name }) => name)
}

describe('rules about paths', () => {
  it('are found by the canonical form of a path, at any depth and behind any pattern', () => {
    const path = { key: 'path', value: '/Reset%50assword/', rate_limit: limit('path') }
    const descriptors: Descriptors = [
      { key: 'ip', descriptors: [path] },
      { key: 'net', cidr: '10.0.0.0/8', descriptors: [path] },
      { key: 'user', value: 'Adm*', descriptors: [path] },
      { key: 'team', value: 'A', descriptors: [path] },
    ]
    for (const first of ['ip=::1', 'net=10.1.2.3', 'user=Admin', 'team=A']) {
      expect(namesOf(descriptors, LOOSE, first, 'path=/resetpassword')).toEqual(['path'])
      expect(namesOf(descriptors, EXACT, first, 'path=/ResetPassword/')).toEqual(['path'])
      expect(namesOf(descriptors, EXACT, first, 'path=/resetpassword')).toEqual([])
    }
  })

  it('are read for each way to route, and once for each', () => {
    const rules = compileObjects([
      { domain: 'd', descriptors: [{ key: 'path', value: '/A/', rate_limit: limit('one') }] },
    ])
    const routed = new RoutedRules()
    const ways = [false, true].flatMap((strict) => [false, true].map((caseSensitive) => ({ caseSensitive, strict })))
    const encoded = ways.map((way) => [
      ...(routed.of(rules, 'd', way).domains.get('d')?.root.branches.get('path')?.exact.keys() ?? []),
    ])
    expect(encoded).toEqual([['/a'], ['/A'], ['/a/'], ['/A/']])
    for (const way of ways) expect(routed.of(rules, 'd', way)).toBe(routed.of(rules, 'd', { ...way }))
  })

  it('all apply where their paths are the same', () => {
    const descriptors: Descriptors = [
      { key: 'path', value: '/login', rate_limit: limit('one'), descriptors: [{ key: 'ip', rate_limit: limit('a') }] },
      { key: 'path', value: '/Login', rate_limit: limit('two'), descriptors: [{ key: 'ip', rate_limit: limit('b') }] },
    ]
    expect(namesOf(descriptors, LOOSE, 'path=/login')).toEqual(['one', 'two'])
    expect(namesOf(descriptors, LOOSE, 'path=/login', 'ip=::1')).toEqual(['a', 'b'])
    expect(namesOf(descriptors, EXACT, 'path=/Login')).toEqual(['two'])
  })

  it('all apply where their patterns are the same, and what is below them too', () => {
    const descriptors: Descriptors = [
      { key: 'path', value: '/Rep*', rate_limit: limit('one') },
      { key: 'path', value: '/rep*', rate_limit: limit('two') },
      ...['a', 'b'].map((name) => ({
        key: 'path',
        value: name === 'a' ? '/login' : '/Login',
        descriptors: [
          { key: 'user', value: `${name}*`, rate_limit: limit(`user ${name}`) },
          { key: 'user', value: 'x*', rate_limit: limit(`x ${name}`) },
          { key: 'net', cidr: name === 'a' ? '10.0.0.0/8' : '11.0.0.0/8', rate_limit: limit(`net ${name}`) },
          { key: 'net', cidr: '12.0.0.0/8', rate_limit: limit(`both ${name}`) },
        ],
      })),
    ]
    expect(namesOf(descriptors, LOOSE, 'path=/report')).toEqual(['one', 'two'])
    expect(namesOf(descriptors, EXACT, 'path=/report')).toEqual(['two'])
    for (const name of ['a', 'b']) {
      expect(namesOf(descriptors, LOOSE, 'path=/login', `user=${name}1`)).toEqual([`user ${name}`])
      expect(namesOf(descriptors, LOOSE, 'path=/login', `net=1${name === 'a' ? 0 : 1}.1.1.1`)).toEqual([`net ${name}`])
    }
    expect(namesOf(descriptors, LOOSE, 'path=/login', 'user=xy')).toEqual(['x a', 'x b'])
    expect(namesOf(descriptors, LOOSE, 'path=/login', 'net=12.0.0.1')).toEqual(['both a', 'both b'])
  })

  it('with a star for what is in a folder apply to the folder, where a slash does not matter', () => {
    const descriptors: Descriptors = [
      { key: 'path', value: '/Files/*', rate_limit: limit('files') },
      { key: 'path', value: '/more', rate_limit: limit('more') },
      { key: 'path', value: '/more/*', rate_limit: limit('in more') },
    ]
    expect(namesOf(descriptors, LOOSE, 'path=/files')).toEqual(['files'])
    expect(namesOf(descriptors, LOOSE, 'path=/files/a')).toEqual(['files'])
    expect(namesOf(descriptors, LOOSE, 'path=/more')).toEqual(['more'])
    expect(namesOf(descriptors, EXACT, 'path=/Files')).toEqual([])
  })

  it('leave the values of other keys as they are', () => {
    const descriptors: Descriptors = [{ key: 'user', value: 'Ann/', rate_limit: limit('ann') }]
    expect(namesOf(descriptors, LOOSE, 'user=Ann/')).toEqual(['ann'])
    expect(namesOf(descriptors, LOOSE, 'user=ann')).toEqual([])
  })

  it('find weights of paths', () => {
    const cost = { by: 'path', weights: { '/Search/': 5 } }
    const rules = compileObjects([
      { domain: 'd', descriptors: [{ key: 'path', rate_limit: { ...limit('a'), cost } }] } as RuleFile,
    ])
    const domain = new RoutedRules().of(rules, 'd', LOOSE).domains.get('d') as Domain
    const [rule] = match(domain, [{ key: 'path', value: '/x' }])
    expect(rule.cost).toMatchObject({ weights: new Map([['/search', 5]]) })
  })

  it('are encoded once for each way to route', () => {
    const rules = compileObjects([{ domain: 'd', descriptors: [{ key: 'path', rate_limit: limit('a') }] }])
    const routed = new RoutedRules()
    expect(routed.of(rules, 'd', LOOSE)).toBe(routed.of(rules, 'd', { ...LOOSE }))
    expect(routed.of(rules, 'd', LOOSE)).not.toBe(routed.of(rules, 'd', EXACT))
  })
})
