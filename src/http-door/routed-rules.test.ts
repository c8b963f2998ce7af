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

/** namesOf spells rules, and returns the names of those that apply to entries `key=value`. */
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
  it('are found by the one spelling of a path, at any depth and behind any pattern', () => {
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

  it('all apply where their paths are the same', () => {
    const descriptors: Descriptors = [
      { key: 'path', value: '/login', rate_limit: limit('one'), descriptors: [{ key: 'ip', rate_limit: limit('a') }] },
      { key: 'path', value: '/Login', rate_limit: limit('two'), descriptors: [{ key: 'ip', rate_limit: limit('b') }] },
    ]
    expect(namesOf(descriptors, LOOSE, 'path=/login')).toEqual(['one', 'two'])
    expect(namesOf(descriptors, LOOSE, 'path=/login', 'ip=::1')).toEqual(['a', 'b'])
    expect(namesOf(descriptors, EXACT, 'path=/Login')).toEqual(['two'])
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

  it('are spelled once for each way to route', () => {
    const rules = compileObjects([{ domain: 'd', descriptors: [{ key: 'path', rate_limit: limit('a') }] }])
    const routed = new RoutedRules()
    expect(routed.of(rules, 'd', LOOSE)).toBe(routed.of(rules, 'd', { ...LOOSE }))
    expect(routed.of(rules, 'd', LOOSE)).not.toBe(routed.of(rules, 'd', EXACT))
  })
})
