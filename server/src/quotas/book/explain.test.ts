import { compileObjects } from 'sluice/internal/core/rules/compile'
import { explain, sourceText } from 'sluice/internal/core/rules/explain'
import type { Domain } from 'sluice/internal/core/rules/rule-set'
import { describe, expect, it } from 'vitest'
import { bookOf, customer, entriesOf, key, ofCustomer, ofKey, override, type Records, tier } from './records.suite.ts'

const limit = (requests_per_unit: number) => ({ unit: 'minute', requests_per_unit })
const DOMAIN = compileObjects([
  {
    domain: 'api',
    evaluate: 'path',
    tiers: { pro: { rate_limit: limit(10) } },
    descriptors: [
      {
        key: 'api_key',
        tiered: true,
        rate_limit: limit(1),
        descriptors: [{ key: 'endpoint', rate_limit: limit(2) }],
      },
    ],
  },
]).domains.get('api') as Domain

function sourcesOf(records: Records, text: string, given?: string): readonly string[] {
  const { book } = bookOf(records)
  const { sources, rules } = explain(DOMAIN, entriesOf(text), given, book.accounts, book.tiers)
  return sources.map((source, i) => `${rules[i].limit.max}: ${sourceText(source, (name) => `api.yaml:${name}`)}`)
}

const ACME: Records = { customers: [customer('acme', { tier: 'pro' })], api_keys: [key('key1', 'acme')] }
const KEY = 'api_key=key1-secret'

describe('explain', () => {
  it.each<[claim: string, records: Records, text: string, given: string | undefined, expected: readonly string[]]>([
    ['a rule', {}, 'api_key=x endpoint=a', undefined, ['1: rule', '2: rule']],
    ['a tier of the rules', ACME, `${KEY} endpoint=a`, undefined, ['10: tier pro (api.yaml:pro)', '2: rule']],
    ['a tier that the request names', {}, 'api_key=x', 'pro', ['10: tier pro (api.yaml:pro)']],
    [
      'a tier of the database',
      { ...ACME, tiers: [tier('api', 'pro', { rate_limit: limit(20) })] },
      KEY,
      undefined,
      ['20: tier pro (database)'],
    ],
    [
      'an override of the customer',
      { ...ACME, overrides: [override('o1', ofCustomer('acme'), 30)] },
      `${KEY} endpoint=a`,
      undefined,
      ['30: override o1 of customer acme', '2: rule'],
    ],
    [
      'an override of the key, for an endpoint',
      { ...ACME, overrides: [override('o2', ofKey('key1'), 40, { descriptor: 'endpoint:a' })] },
      `${KEY} endpoint=a`,
      undefined,
      ['10: tier pro (api.yaml:pro)', '40: override o2 of key key1…'],
    ],
  ])('says that a number comes from %s', (_, records, text, given, expected) => {
    expect(sourcesOf(records, text, given)).toEqual(expected)
  })

  it('lists a tier that only the database has when it is taken', () => {
    const { book } = bookOf({ tiers: [tier('api', 'gold', { rate_limit: limit(20) })] })
    const { tiers } = explain(DOMAIN, entriesOf('api_key=x'), 'gold', book.accounts, book.tiers)
    expect(tiers.map((each) => [each.tier, each.isTaken])).toEqual([
      ['pro', false],
      ['gold', true],
      [undefined, false],
    ])
  })
})
