import { describe, expect, it } from 'vitest'
import { compileObjects } from './compile.ts'
import { explain } from './explain.ts'
import { match } from './match.ts'
import type { Domain } from './rule-set.ts'
import type { RuleFile } from './schema.ts'

const limit = (name: string) => ({ name, unit: 'minute', requests_per_unit: 1 })
const FILE: RuleFile = {
  domain: 'd',
  tiers: { pro: { descriptors: [{ key: 'path', value: '/export*', rate_limit: limit('pro-export') }] } },
  descriptors: [
    { key: 'ip', rate_limit: limit('any') },
    { key: 'ip', cidr: '10.0.0.0/8', rate_limit: limit('block') },
    { key: 'ip', value: '10.*', rate_limit: limit('wildcard') },
    { key: 'ip', value: '10.0.0.1', rate_limit: limit('exact') },
    {
      key: 'api_key',
      secret: true,
      tiered: true,
      descriptors: [{ key: 'path', value: '/login', rate_limit: limit('login') }],
    },
  ],
}
const domain = compileObjects([FILE]).domains.get('d') as Domain

const entriesOf = (text: string) =>
  text.split(' ').map((part) => ({ key: part.split('=')[0], value: part.split('=')[1] }))

describe('explain', () => {
  it.each<[entries: string, tier: string | undefined, steps: [how: string, pattern?: string][], rules: string[]]>([
    ['ip=10.0.0.1', undefined, [['exact value', 'ip=10.0.0.1']], ['exact']],
    ['ip=::ffff:10.0.0.2', undefined, [['address block', 'ip=10.0.0.0/8']], ['block']],
    ['ip=10.x', undefined, [['wildcard', 'ip=10.*']], ['wildcard']],
    ['ip=192.0.2.1', undefined, [['any value', 'ip']], ['any']],
    ['user=a', undefined, [['no match']], []],
    ['user=a ip=10.0.0.1', undefined, [['no match'], ['no match']], []],
    ['api_key=k', undefined, [['any value', 'api_key']], []],
    [
      'api_key=k path=/login',
      undefined,
      [
        ['any value', 'api_key'],
        ['exact value', 'api_key/path=/login'],
      ],
      ['login'],
    ],
    ['api_key=k path=/export', undefined, [['any value', 'api_key'], ['no match']], []],
    [
      'api_key=k path=/export',
      'pro',
      [
        ['any value', 'api_key'],
        ['wildcard', 'api_key/path=/export*'],
      ],
      ['pro-export'],
    ],
    [
      'api_key=k path=/login',
      'pro',
      [
        ['any value', 'api_key'],
        ['exact value', 'api_key/path=/login'],
      ],
      ['login'],
    ],
  ])('says how %s in %s is matched', (text, tier, steps, names) => {
    const entries = entriesOf(text)
    const { steps: found, rules, note } = explain(domain, entries, tier)
    expect(found.map(({ how, pattern }) => (pattern === undefined ? [how] : [how, pattern]))).toEqual(steps)
    expect(rules).toEqual(match(domain, entries, tier))
    expect(rules.map(({ name }) => name)).toEqual(names)
    expect(note === undefined).toBe(names.length > 0)
  })

  it('marks what must not be shown, even where nothing matches', () => {
    const secrets = explain(domain, entriesOf('api_key=k path=/x api_key=k')).steps.map(({ secret }) => secret)
    expect(secrets).toEqual([true, false, true])
  })

  it('asks for the account of a tiered rule, as match does', () => {
    const lookup = () => ({ tier: 'pro', hasLimits: false, ownLimit: () => undefined })
    const { rules } = explain(domain, entriesOf('api_key=k path=/export'), undefined, lookup)
    expect(rules.map(({ name }) => name)).toEqual(['pro-export'])
  })
})
