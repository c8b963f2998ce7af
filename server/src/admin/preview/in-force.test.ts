import { KeyedHash } from 'sluice/internal/core/hash'
import { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import { describe, expect, it } from 'vitest'
import { CALLER_ENTRIES } from '../../quotas/book/caller-entries.ts'
import type { Records } from '../../quotas/book/records.suite.ts'
import {
  bookOf,
  customer,
  grant,
  key,
  ofCustomer,
  ofKey,
  override,
  ruleSwitch,
  START_MS,
  tier,
} from '../../quotas/book/records.suite.ts'
import type { InForce, PlainLimit, ProposedChange } from '../api/change.ts'
import { ChangePreview } from './change-preview.ts'
import { RecordCheck } from './record-problems.ts'

const limit = (requests_per_unit: number, unit = 'minute') => ({ unit, requests_per_unit })
const SHOP: RuleFile = {
  domain: 'shop',
  tiers: { pro: { rate_limit: limit(100) } },
  descriptors: [
    { key: 'api_key', rate_limit: limit(2, 'hour') },
    {
      key: 'customer',
      tiered: true,
      rate_limit: limit(600),
      descriptors: [{ key: 'path', value: '/a', rate_limit: limit(60) }],
    },
    { key: 'fixed', tiered: false, descriptors: [{ key: 'customer', rate_limit: limit(5) }] },
  ],
}
const LLM: RuleFile = {
  domain: 'llm',
  descriptors: [{ key: 'api_key', rate_limit: { ...limit(500), name: 'calls' } }],
}
const FLAT: RuleFile = { domain: 'flat', descriptors: [{ key: 'user', tiered: true, rate_limit: limit(9) }] }
const CUSTOMER_0 = { key: 'customer', rate_limit: limit(0) }
const ACME: Records = { customers: [customer('acme')], api_keys: [key('k1', 'acme'), key('k2', 'acme')] }

async function inForce(
  records: Records,
  changes: readonly ProposedChange[],
  files: readonly RuleFile[] = [SHOP, LLM],
  more: { readonly isShadow?: boolean; readonly caughtUp?: () => Promise<boolean> } = {},
): Promise<InForce> {
  const rules = compileObjects(files)
  const { book } = bookOf(records)
  const parts = { rules: () => rules, book: () => book, entries: CALLER_ENTRIES }
  const preview = new ChangePreview({
    ...parts,
    keys: new KeyEncoder(KeyedHash.random()),
    hours: undefined,
    activity: { list: async () => ({ items: [], nodes: 1, nodesLeftOut: 0, rulesLeftOut: 0 }) },
    countersOf: async () => 0,
    problems: new RecordCheck(parts),
    nowMs: () => START_MS,
    ...more,
  })
  return preview.inForce(changes)
}

const words = (of: PlainLimit | undefined): string =>
  of === undefined ? 'none' : `${of.requestsPerUnit}/${of.unit ?? of.windowMs}`
const lines = ({ rules }: InForce): string[] =>
  rules
    .map(
      ({ domain, ruleId, before, after, effect }) => `${domain}/${ruleId} ${words(before)} → ${words(after)} ${effect}`,
    )
    .sort()
const change = (table: string, id: string, after: unknown, before?: unknown): ProposedChange =>
  ({ kind: 'record', table, id, before, after }) as ProposedChange
const hourly = (most: number, more: Parameters<typeof override>[3] = {}) =>
  override('o', ofCustomer('acme'), most, { unit: 'hour', ...more })

describe('an override is in force on', () => {
  it('every rule that the customer or a key of it leads to, whichever it was meant for', async () => {
    const found = await inForce(ACME, [change('overrides', 'o', hourly(700))])
    expect(lines(found)).toEqual([
      'llm/api_key 500/minute → 700/hour lowered',
      'shop/api_key 2/hour → 700/hour raised',
      'shop/customer 600/minute → 700/hour lowered',
    ])
    expect(found.rules.map(({ overrideId }) => overrideId)).toEqual(['o', 'o', 'o'])
    expect(found.rules.map(({ ruleName }) => ruleName)).toEqual(['api_key', 'customer', 'calls'])
    expect(found.warnings).toEqual([])
  })

  it('the rules that it names, and only on those of one key where it is for a key', async () => {
    const of = async (more: Parameters<typeof override>[3]) =>
      lines(await inForce(ACME, [change('overrides', 'o', hourly(700, more))]))
    expect(await of({ domain: 'shop', rule: 'api_key' })).toEqual(['shop/api_key 2/hour → 700/hour raised'])
    expect(await of({ domain: 'llm' })).toEqual(['llm/api_key 500/minute → 700/hour lowered'])
    expect(await of({ subject: ofKey('k2'), domain: 'shop' })).toEqual(['shop/api_key 2/hour → 700/hour raised'])
    expect(await of({ descriptor: 'path:/a' })).toEqual(['shop/customer/path=/a 60/minute → 700/hour lowered'])
  })

  it('nothing else once it is removed, and what was there applies again', async () => {
    const scoped = hourly(700, { domain: 'shop', rule: 'api_key' })
    const found = await inForce({ ...ACME, overrides: [scoped] }, [change('overrides', 'o', undefined, scoped)])
    expect(lines(found)).toEqual(['shop/api_key 700/hour → 2/hour lowered'])
    expect(found.warnings).toEqual([])
  })

  it('the same rules when it is put again, and when it begins later', async () => {
    const scoped = hourly(700, { domain: 'shop', rule: 'api_key' })
    const again = await inForce({ ...ACME, overrides: [scoped] }, [change('overrides', 'o', scoped, scoped)])
    expect(lines(again)).toEqual(['shop/api_key 700/hour → 700/hour same'])
    const later = { ...scoped, effectiveAtMs: START_MS + 9_000 }
    expect(lines(await inForce(ACME, [change('overrides', 'o', later)]))).toEqual([
      'shop/api_key 2/hour → 700/hour raised',
    ])
  })

  it('the rules of a key that is made by the same request', async () => {
    const changes = [
      change('api_keys', 'new', key('new', undefined)),
      change('overrides', 'o', hourly(50, { subject: ofKey('new'), domain: 'shop' })),
    ]
    expect(lines(await inForce({}, changes))).toEqual(['shop/api_key 2/hour → 50/hour raised'])
  })

  it('the rules that a key would lead to, of a customer who has none yet, and says so', async () => {
    const found = await inForce({ customers: [customer('acme')] }, [
      change('overrides', 'o', hourly(700, { domain: 'llm' })),
    ])
    expect(lines(found)).toEqual(['llm/api_key 500/minute → 700/hour lowered'])
    expect(found.warnings).toEqual(['acme has no API key yet: rules about api_key, x-api-key apply once it has one.'])
  })

  it('a separate value that the rules name', async () => {
    const named: RuleFile = {
      domain: 'named',
      descriptors: [
        { key: 'api_key', rate_limit: limit(1) },
        { key: 'api_key', value: 'k1-secret', rate_limit: limit(2) },
      ],
    }
    const found = (id: string) => inForce(ACME, [change('overrides', 'o', hourly(7, { subject: ofKey(id) }))], [named])
    expect(lines(await found('k1'))).toEqual(['named/api_key=k1-secret 2/minute → 7/hour lowered'])
    expect(lines(await found('k2'))).toEqual(['named/api_key 1/minute → 7/hour lowered'])
  })

  it('that of a key among many of the same customer', async () => {
    const keys = Array.from({ length: 40 }, (_, i) => key(`k${i}`, 'acme', { tier: `t${i}` }))
    const found = await inForce({ ...ACME, api_keys: keys }, [
      change('overrides', 'o', hourly(7, { subject: ofKey('k39'), domain: 'shop' })),
    ])
    expect(lines(found)).toEqual(['shop/api_key 2/hour → 7/hour raised'])
  })
})

describe('a change that no rule uses says why', () => {
  const warningOf = async (
    more: Parameters<typeof override>[3],
    files: readonly RuleFile[] = [SHOP, LLM],
    records: Records = ACME,
  ): Promise<string> => {
    const found = await inForce(records, [change('overrides', 'o', hourly(700, more))], files)
    expect(found.rules).toEqual([])
    expect(found.warnings).toHaveLength(1)
    return found.warnings[0]
  }

  it.each<[claim: string, more: Parameters<typeof override>[3], files: readonly RuleFile[], warning: RegExp]>([
    [
      'no rule names a caller',
      {},
      [{ domain: 'd', descriptors: [{ key: 'ip', rate_limit: limit(1) }] }],
      /^No rule uses it: no rule has an entry that says who is calling \(api_key, .*--api-key-entries/,
    ],
    ['no rule is at the descriptor', { descriptor: 'path:/b' }, [LLM], /no rule is at the descriptor "path:\/b" below/],
    [
      'the rule bans, which only an override that names it changes',
      {},
      [{ domain: 'd', descriptors: [{ key: 'customer', rate_limit: limit(0) }] }],
      /the rule "customer" of the domain "d" bans with a limit of 0 .*Send its "domain" and "rule"\.$/,
    ],
    [
      'the rule is fixed above, and bans too',
      {},
      [{ domain: 'd', descriptors: [{ key: 'fixed', tiered: false, descriptors: [CUSTOMER_0] }] }],
      /^No rule uses it: the rule "fixed\/customer" of the domain "d" stays as it is: it says "tiered: false"/,
    ],
    [
      'the rule is fixed, and named',
      { domain: 'shop', rule: 'fixed/customer' },
      [SHOP],
      /^No rule uses it: the rule "fixed\/customer" of the domain "shop" stays as it is: it says "tiered: false", there or above, so no override, tier or grant changes it\. Remove that from the rules, or change the limit there\.$/,
    ],
    [
      'the named rule is below, for any value',
      { domain: 'd', rule: 'customer/month' },
      [{ domain: 'd', descriptors: [{ key: 'customer', descriptors: [{ key: 'month', rate_limit: limit(1) }] }] }],
      /^No rule uses it: the rule "customer\/month" of the domain "d" is at the descriptor "month:VALUE", and not at "default"\. Send that as "descriptor", with a value in place of VALUE\.$/,
    ],
    [
      'the named rule is below, for one value',
      { domain: 'shop', rule: 'customer/path=/a' },
      [SHOP],
      /is at the descriptor "path:\/a", and not at "default"\. Send that as "descriptor"\.$/,
    ],
    [
      'the rule is not one of the caller',
      { domain: 'flat', rule: 'user' },
      [SHOP, FLAT],
      /this caller does not lead to the rule "user" of the domain "flat"/,
    ],
    [
      'the rule is not there any more',
      { domain: 'shop', rule: 'gone' },
      [SHOP],
      /the domain "shop" has no rule with the id or name "gone"/,
    ],
    ['it has ended', { expiresAtMs: START_MS }, [SHOP], /it has ended/],
    ['its numbers make no limit', { algorithm: 'guess' }, [SHOP], /algorithm/],
  ])('%s', async (_, more, files, warning) => {
    expect(await warningOf(more, files)).toMatch(warning)
  })

  it('another override goes before it', async () => {
    const overrides = ['k1', 'k2'].map((id) => override(`of ${id}`, ofKey(id), 1))
    expect(await warningOf({ domain: 'llm' }, [LLM], { ...ACME, overrides })).toMatch(
      /the override of k1 goes before it\. Replace or remove/,
    )
  })

  it('a removal changes nothing', async () => {
    const ended = hourly(1, { expiresAtMs: START_MS })
    const found = await inForce({ ...ACME, overrides: [ended] }, [change('overrides', 'o', undefined, ended)])
    expect(found).toEqual({ rules: [], warnings: ['No rule uses it: nothing changes.'] })
  })
})

describe('another tier is in force on', () => {
  it('the rules that it says something about', async () => {
    const [before, after] = [customer('acme'), customer('acme', { tier: 'pro' })]
    const found = await inForce(ACME, [change('customers', 'acme', after, before)])
    expect(lines(found)).toEqual(['shop/customer 600/minute → 100/minute lowered'])
    expect(found.warnings).toEqual([])
  })

  it('nothing where its name is known to no rule, or an override goes before it', async () => {
    const to = async (name: string | undefined, records: Records = ACME) =>
      (await inForce(records, [change('customers', 'acme', customer('acme', { tier: name }), customer('acme'))]))
        .warnings
    expect(await to('prro')).toEqual([
      'No rule uses it: no rule file and no tier of the API defines the tier "prro". Define it, or correct the name.',
    ])
    const overrides = [hourly(1, { domain: 'shop', rule: 'customer' })]
    expect(await to('pro', { ...ACME, overrides })).toEqual([
      'No rule uses it: the tier "pro" says nothing about the rules that this caller leads to, or overrides go before it.',
    ])
    expect(await to(undefined)).toEqual([])
  })
})

describe('a tier is in force on', () => {
  const stored = (domain: string, limits: unknown) => change('tiers', `${domain}/pro`, tier(domain, 'pro', limits))

  it('what an API key or a customer of that tier leads to, however many there are', async () => {
    const customers = Array.from({ length: 1_000 }, (_, i) => customer(`c${i}`, { tier: 'pro' }))
    const tiers = [tier('llm', 'pro', { rate_limit: limit(7) })]
    const found = await inForce({ customers, tiers }, [stored('shop', { rate_limit: limit(1_000) })])
    expect(lines(found)).toEqual([
      'shop/api_key 2/hour → 1000/minute raised',
      'shop/customer 100/minute → 1000/minute raised',
    ])
  })

  it('`tiered: true` for requests that name the tier, whatever their entries are called', async () => {
    const found = await inForce({}, [stored('flat', { rate_limit: limit(10) })], [FLAT])
    expect(lines(found)).toEqual(['flat/user 9/minute → 10/minute raised'])
  })

  it('nothing where the domain is unknown', async () => {
    const found = await inForce({}, [stored('gone', { rate_limit: limit(10) })])
    expect(found.warnings).toEqual(['No rule uses it: no rules define the domain "gone".'])
  })
})

describe('a grant is in force on', () => {
  it('the rules that are charged on it when they refuse; their limits stay', async () => {
    const found = await inForce(ACME, [change('grants', 'g', grant('g', 'acme', 5))])
    expect(lines(found)).toEqual([
      'llm/api_key 500/minute → 500/minute same',
      'shop/api_key 2/hour → 2/hour same',
      'shop/customer 600/minute → 600/minute same',
    ])
    const below = await inForce(ACME, [change('grants', 'g', grant('g', 'acme', 5, { descriptor: 'path:/a' }))])
    expect(lines(below)).toEqual(['shop/customer/path=/a 60/minute → 60/minute same'])
  })

  it('nothing where the rules there do not take it, and says why', async () => {
    const of = async (file: RuleFile) =>
      (await inForce(ACME, [change('grants', 'g', grant('g', 'acme', 5))], [file])).warnings[0]
    expect(await of({ domain: 'd', descriptors: [CUSTOMER_0] })).toMatch(/bans with a limit of 0 .*no grant adds/)
    expect(await of({ domain: 'd', descriptors: [{ ...CUSTOMER_0, tiered: false }] })).toMatch(/says "tiered: false"/)
    const unlimited = { key: 'customer', rate_limit: { unlimited: true } }
    expect(await of({ domain: 'd', descriptors: [unlimited] })).toMatch(/is unlimited: it refuses no request/)
  })

  it('nothing where no rule is at its descriptor', async () => {
    const found = await inForce(ACME, [change('grants', 'g', grant('g', 'acme', 5, { descriptor: 'path:/b' }))])
    expect(found.warnings[0]).toMatch(/^No rule uses it: no rule is at the descriptor "path:\/b"/)
  })
})

describe('where a change is in force', () => {
  it('is bounded, and says so', async () => {
    const descriptors = Array.from({ length: 6_000 }, (_, i) => ({ key: 'path', value: `/${i}`, rate_limit: limit(1) }))
    const many: RuleFile = { domain: 'd', descriptors: [{ key: 'customer', rate_limit: limit(1), descriptors }] }
    const found = await inForce(ACME, [change('overrides', 'o', hourly(7))], [many])
    expect(lines(found)).toEqual(['d/customer 1/minute → 7/hour lowered'])
    expect(found.warnings).toEqual(['Not all rules were looked at, because there are so many: more may be affected.'])
    const halves = ['a', 'b'].map((domain, i) => ({
      domain,
      descriptors: [
        { key: 'customer', rate_limit: limit(1), descriptors: descriptors.slice(i * 3_000, (i + 1) * 3_000) },
      ],
    }))
    expect((await inForce(ACME, [change('overrides', 'o', hourly(7))], halves)).warnings).toEqual(found.warnings)
  })

  it('does not hide that nothing is refused, or that the node is behind', async () => {
    const switches = [ruleSwitch({ domain: 'llm', id: 'api_key' }, 'off')]
    const changes = [change('overrides', 'o', hourly(7, { domain: 'llm' }))]
    const found = await inForce({ ...ACME, switches }, changes, [LLM], { isShadow: true, caughtUp: async () => false })
    expect(found.warnings).toEqual([
      'Switched off, so that nothing is refused: api_key of llm.',
      'Nothing is refused: the service runs with --shadow-mode.',
      'This node has not read the newest records yet: where the change is in force is judged by older ones.',
    ])
  })
})
