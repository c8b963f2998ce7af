import { describe, expect, it } from 'vitest'
import { raisedBy } from '../raised.suite.ts'
import type { Entry } from '../request.ts'
import { loadRules } from './load.ts'
import { match } from './match.ts'
import { RulesError } from './problems.ts'
import type { Domain, Rule, RuleSet } from './rule-set.ts'

const load = (...texts: string[]): RuleSet =>
  loadRules(
    texts.map((text, i) => ({ file: `${i + 1}.yaml`, text })),
    { mergeDomains: true },
  )

const entriesOf = (text: string): Entry[] =>
  text.split(' ').map((part) => ({ key: part.split('=')[0], value: part.split('=')[1] }))
const rulesFor = (rules: RuleSet, entries: string, tier?: string): readonly Rule[] =>
  match(rules.domains.get('d') as Domain, entriesOf(entries), tier)

describe('texts of a rule file', () => {
  it.each<[written: string, read: string]>([
    ['404', '404'],
    ['"404"', '404'],
    ['0x1F', '0x1F'],
    ['1e3', '1e3'],
    ['1.0', '1.0'],
    ['010', '010'],
    ['-0', '-0'],
    ['.inf', '.inf'],
    ['true', 'true'],
    ['True', 'True'],
    ['yes', 'yes'],
    ['2024-01-01', '2024-01-01'],
    ['12:30:45', '12:30:45'],
    ['"null"', 'null'],
    ['"~"', '~'],
    ['!!str 5', '5'],
    ["'it''s'", "it's"],
    ['"\\u00fc"', 'ü'],
  ])('reads the value %s as the text %s', (written, read) => {
    const rules = load(`domain: d\ndescriptors:\n- { key: k, value: ${written}, rate_limit: { unlimited: true } }\n`)
    expect(rulesFor(rules, `k=${read}`)).toHaveLength(1)
    expect(rulesFor(rules, 'k=other')).toHaveLength(0)
  })

  it.each(['', '~', 'null', '""', "''"])('reads the value "%s" as none', (written) => {
    const rules = load(`domain: d\ndescriptors:\n- key: k\n  value: ${written}\n  rate_limit: { unlimited: true }\n`)
    expect(rulesFor(rules, 'k=anything')).toHaveLength(1)
  })

  it('reads the switches of YAML 1.1, without quotes', () => {
    const text = (value: string) =>
      `domain: d\ndescriptors: [{key: a, shadow_mode: ${value}, rate_limit: {unit: day, requests_per_unit: 1}}]`
    const shadow = (value: string) =>
      loadRules([{ file: 'd.yaml', text: text(value) }])
        .domains.get('d')
        ?.root.branches.get('a')?.any?.rules[0].shadow
    expect(['yes', 'Yes', 'on', 'ON', 'y', 'true'].map(shadow)).toEqual(new Array(6).fill(true))
    expect(['no', 'NO', 'off', 'Off', 'n', 'false', ''].map(shadow)).toEqual(new Array(7).fill(false))
    expect(() => shadow('"yes"')).toThrow('RULE_INVALID')
    expect(() => shadow('maybe')).toThrow('RULE_INVALID')
  })

  it('takes keys without a value for keys that are not there', () => {
    const text = `domain: d
descriptors:
  - key: a
    value:
    quota_mode:
    share_threshold:
    metadata:
    descriptors:
    rate_limit:
      name:
      replaces:
      unlimited:
      unit: day
      requests_per_unit: 1
  - key: b
    rate_limit:
`
    const rule = loadRules([{ file: 'd.yaml', text }])
      .domains.get('d')
      ?.root.branches.get('a')?.any?.rules[0]
    expect(rule).toMatchObject({ name: 'a', isNamed: false, unlimited: false, quota: false, replaces: [] })
  })

  it('reads domains, keys and names without quotes', () => {
    const rules = load('domain: 5\ndescriptors: [{ key: 404, rate_limit: { name: 1.0, unlimited: true } }]\n')
    const [rule] = match(rules.domains.get('5') as Domain, entriesOf('404=a'))
    expect([rule.id, rule.name]).toEqual(['404', '1.0'])
  })

  it('leaves alone what the author named: weights, metadata, headers', () => {
    const rules = load(`domain: d
descriptors:
- key: k
  metadata: { name: 1, value: 2.0, deep: [{ key: true }] }
  rate_limit:
    unit: minute
    requests_per_unit: 1
    cost: { by: k, weights: { name: 5, key: 6, value: 7, domain: 8, 404: 9 } }
    response: { headers: { key: a, name: b } }
`)
    const [{ cost, path, response }] = rulesFor(rules, 'k=a')
    expect(cost).toMatchObject({ weights: new Map(Object.entries({ name: 5, key: 6, value: 7, domain: 8, 404: 9 })) })
    expect(path[0].metadata).toEqual({ name: 1, value: 2, deep: [{ key: true }] })
    expect(response?.headers).toEqual(Object.entries({ key: 'a', name: 'b' }))
  })

  it('reads the names of tiers as names, whatever they are', () => {
    const tier = '{ descriptors: [{ key: a, value: 404, rate_limit: { name: 5, unlimited: true } }] }'
    const rules = load(
      `domain: d\ntiers: { metadata: ${tier}, value: {}, 7: ${tier} }\ndescriptors: [{ key: k, tiered: true }]\n`,
    )
    for (const name of ['metadata', '7']) expect(rulesFor(rules, 'k=v a=404', name)[0].name).toBe('5')
  })

  it.each<[string, string]>([
    ['1', '1'],
    ['1.10', '1.10'],
    ['0x10', '0x10'],
    ['2024-01-01', '2024-01-01'],
    ['"7"', '7'],
    ['v7', 'v7'],
  ])('shows the version %s as %s', (written, shown) => {
    expect(load(`domain: d\nversion: ${written}\n`).domains.get('d')?.version).toBe(shown)
  })
})

describe('aliases', () => {
  it('stand for what they refer to, and can be merged and changed', () => {
    const rules = load(`domain: d
descriptors:
- key: a
  rate_limit: &base { name: base, unit: minute, requests_per_unit: 1, algorithm: gcra }
- { key: b, rate_limit: *base }
- { key: c, rate_limit: { <<: *base, name: c, requests_per_unit: 2 } }
- { key: d, rate_limit: { <<: [{ burst: 5 }, *base], name: d } }
- &level { key: e, descriptors: [{ key: f, rate_limit: *base }] }
- { <<: *level, key: g }
`)
    const limits = ['a=1', 'b=1', 'c=1', 'd=1', 'e=1 f=1', 'g=1 f=1'].map((entries) => {
      const [{ name, limit }] = rulesFor(rules, entries)
      return `${name} ${limit.max} ${limit.capacity} ${limit.algorithm}`
    })
    expect(limits).toEqual([
      'base 1 1 gcra',
      'base 1 1 gcra',
      'c 2 2 gcra',
      'd 1 5 gcra',
      'base 1 1 gcra',
      'base 1 1 gcra',
    ])
  })

  it('report a mistake once, where it is written', () => {
    const message = raisedBy(() =>
      load(`domain: d
descriptors:
- key: a
  rate_limit: &bad
    unit: minute
    requests_per_unit: 1
    burst: 5
- { key: b, rate_limit: *bad }
- { key: c, rate_limit: *bad }
`),
    )
    expect(message).toBe(
      'OPTION_NOT_APPLICABLE: 1.yaml:7:12: burst: not used by sliding_window, only by token_bucket, gcra, leaky_bucket. ' +
        'Remove the option, or choose an algorithm that uses it.',
    )
  })

  it('report a mistake in what is merged where it is used', () => {
    const message = raisedBy(() =>
      load(`domain: d
descriptors:
- { key: a, rate_limit: &base { window: 1m, requests_per_unit: 1 } }
- { key: b, rate_limit: { <<: *base, unit: minute } }
`),
    )
    expect(message).toBe(
      'RULE_COMBINATION: 1.yaml:4:25: window and unit cannot be combined. See docs/rules.md for keys that require or exclude each other.',
    )
  })

  it('refer to the last anchor of that name', () => {
    const rules = load(`domain: d
descriptors:
- { key: a, rate_limit: &x { name: first, unlimited: true } }
- { key: b, rate_limit: &x { name: second, unlimited: true } }
- { key: c, rate_limit: *x }
`)
    expect(rulesFor(rules, 'c=1')[0].name).toBe('second')
  })
})

describe('files of one domain', () => {
  const A = 'domain: d\nversion: 1\ndescriptors:\n- { key: a, rate_limit: { unlimited: true } }\n'
  const B = 'domain: d\nversion: two\ntiers: { pro: { rate_limit: { name: pro, unlimited: true } } }\n'
  const C = 'domain: d\ndescriptors:\n- { key: a, value: x, tiered: true }\n- { key: b, value: "*" }\n'

  it('are one set of rules when they may be', () => {
    const rules = load(A, B, C)
    expect([rules.domains.size, rules.ruleCount, rules.domains.get('d')?.version]).toEqual([1, 2, '1, two'])
    expect(rulesFor(rules, 'a=1')).toHaveLength(1)
    expect(rulesFor(rules, 'a=x')).toHaveLength(0)
    expect(rulesFor(rules, 'a=x', 'pro').map(({ name }) => name)).toEqual(['pro'])
  })

  it('try wildcards in the order of the files', () => {
    const file = (name: string, value: string): string =>
      `domain: d\ndescriptors: [{ key: a, value: "${value}", rate_limit: { name: ${name}, unlimited: true } }]\n`
    const named = (...texts: string[]): string => rulesFor(load(...texts), 'a=xy')[0].name
    expect(named(file('first', 'x*'), file('second', '*y'))).toBe('first')
    expect(named(file('second', '*y'), file('first', 'x*'))).toBe('second')
  })

  it('all evaluate the path, or none does', () => {
    const path = 'domain: d\nevaluate: path\n'
    expect(load(path, path).domains.get('d')?.evaluatePath).toBe(true)
    expect(raisedBy(() => load(path, A))).toBe(
      'RULE_COMBINATION: 2.yaml:1:1: evaluate differs between files of one domain. See docs/rules.md for keys that require or exclude each other.',
    )
  })

  it('are distinguished in errors', () => {
    expect(raisedBy(() => load(A, A))).toBe(
      'RULE_DUPLICATE_KEY: 2.yaml:4:10: "a" is already defined at 1.yaml:4:10. A key, or a key with its value, must be unique within a level.',
    )
  })
})

describe('a RulesError', () => {
  it('has all errors of all files, by file, line and column', () => {
    const texts = [
      { file: 'b.yaml', text: 'domain: b\nx: 1\n' },
      { file: 'a.yaml', text: 'domain: a\ny: 1\nz: { a: 1, b: [\n' },
      { file: 'c.yaml', text: ' '.repeat(8 * 1024 * 1024 + 1) },
      { file: 'a10.yaml', text: `${'\n'.repeat(10)}domain: c\nx: 1\nw: 2\n` },
    ]
    try {
      loadRules(texts)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(RulesError)
      const { errors, omitted, message } = error as RulesError
      expect(errors.map(({ code, where }) => `${code} ${where}`)).toEqual([
        'RULE_SYNTAX a.yaml:4:1',
        'RULE_SYNTAX a.yaml:4:1',
        'RULE_UNKNOWN_KEY a10.yaml:12:1',
        'RULE_UNKNOWN_KEY a10.yaml:13:1',
        'RULE_UNKNOWN_KEY b.yaml:2:1',
        'RULE_FILE_TOO_LARGE c.yaml',
      ])
      expect([omitted, message.split('\n')]).toEqual([0, errors.map((each) => each.message)])
    }
  })
})
