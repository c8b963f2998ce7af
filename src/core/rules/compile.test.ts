import { describe, expect, it } from 'vitest'
import { raisedBy } from '../raised.suite.ts'
import { compileObjects } from './compile.ts'
import { match } from './match.ts'
import type { Domain, Rule, RuleSet } from './rule-set.ts'
import type { DescriptorRule, RateLimitRule, RuleFile } from './schema.ts'

const MINUTE: RateLimitRule = { unit: 'minute', requests_per_unit: 1 }
const DAY_MS = 86_400_000

const compile = (...descriptors: DescriptorRule[]): RuleSet => compileObjects([{ domain: 'd', descriptors }])

/** Returns the rules for entries, written `key=value key=value`. */
function rulesFor(rules: RuleSet, entries: string, domain = 'd'): readonly Rule[] {
  const parsed = entries.split(' ').map((part) => ({ key: part.split('=')[0], value: part.split('=')[1] }))
  return match(rules.domains.get(domain) as Domain, parsed)
}

const ruleOf = (rate_limit: RateLimitRule): Rule => rulesFor(compile({ key: 'k', rate_limit }), 'k=v')[0]

describe('compileObjects', () => {
  it.each<[string, number]>([
    ['second', 1_000],
    ['minute', 60_000],
    ['hour', 3_600_000],
    ['day', DAY_MS],
    ['week', 7 * DAY_MS],
    ['month', 30 * DAY_MS],
    ['year', 365 * DAY_MS],
    ['MINUTE', 60_000],
    ['Hour', 3_600_000],
  ])('reads the unit %s as %i ms', (unit, windowMs) => {
    expect(ruleOf({ unit, requests_per_unit: 3 }).limit).toMatchObject({
      max: 3,
      windowMs,
      algorithm: 'sliding_window',
    })
  })

  it.each<[string, RateLimitRule, object]>([
    ['a window', { window: '90s', requests_per_unit: 3 }, { windowMs: 90_000 }],
    ['a window in milliseconds', { window: 250, requests_per_unit: 3 }, { windowMs: 250 }],
    ['a limit of 0', { ...MINUTE, requests_per_unit: 0 }, { max: 0 }],
    ['the largest limit', { ...MINUTE, requests_per_unit: 4_294_967_295 }, { max: 4_294_967_295 }],
    ['a burst', { ...MINUTE, algorithm: 'token_bucket', burst: 9 }, { algorithm: 'token_bucket', capacity: 9 }],
    ['sub-windows', { ...MINUTE, sub_windows: 6 }, { quantumMs: 10_000, isLog: true }],
    ['count_denied', { ...MINUTE, count_denied: true }, { countDenied: true }],
    ['an anchor', { ...MINUTE, algorithm: 'fixed_window', anchor: 'first_hit' }, { isAnchored: true, shape: 'a1m' }],
    [
      'a lease',
      { algorithm: 'concurrency', requests_per_unit: 4, lease_ttl: '5s' },
      { algorithm: 'concurrency', windowMs: 5_000 },
    ],
    [
      'a calendar',
      { algorithm: 'fixed_window', requests_per_unit: 4, calendar: { unit: 'month', time_zone: 'Europe/Berlin' } },
      { algorithm: 'fixed_window', calendar: { unit: 'month', timeZone: 'Europe/Berlin', isOfCustomer: false } },
    ],
    [
      'a calendar of the customer',
      { algorithm: 'fixed_window', requests_per_unit: 4, calendar: { unit: 'month', time_zone: 'customer' } },
      { algorithm: 'fixed_window', calendar: { unit: 'month', timeZone: 'UTC', isOfCustomer: true } },
    ],
  ])('reads %s', (_, rateLimit, expected) => {
    expect(ruleOf(rateLimit).limit).toMatchObject(expected)
  })

  it.each<[string, RateLimitRule, Partial<Rule>]>([
    [
      'nothing: the defaults',
      MINUTE,
      {
        unlimited: false,
        shadow: false,
        quota: false,
        replaces: [],
        cost: 1,
        consistency: 'exact',
        syncIntervalMs: 100,
        onStoreFailure: 'local',
        openForMs: 0,
        localShare: 1,
        timeoutMs: undefined,
        priority: undefined,
        response: undefined,
        retryAfterJitterMs: 0,
        ledger: undefined,
      },
    ],
    ['a meter', { ...MINUTE, ledger: 'exports' }, { ledger: { meter: 'exports', amount: 'cost' } }],
    [
      'a meter with an amount',
      { unlimited: true, ledger: { meter: 'exports', amount: 3 } },
      { unlimited: true, ledger: { meter: 'exports', amount: 3 } },
    ],
    ['no limit', { unlimited: true, name: 'free' }, { unlimited: true, name: 'free' }],
    ['what it replaces', { ...MINUTE, replaces: [{ name: 'a' }, { name: 'b' }] }, { replaces: ['a', 'b'] }],
    [
      'how long an outage is admitted',
      { ...MINUTE, on_store_failure: 'open', open_for: '60s' },
      { onStoreFailure: 'open', openForMs: 60_000 },
    ],
    ['a cost', { ...MINUTE, cost: 7 }, { cost: 7 }],
    [
      'weights',
      { ...MINUTE, cost: { by: 'k', weights: { a: 2, b: 0 } } },
      { cost: { by: 'k', weights: new Map(Object.entries({ a: 2, b: 0 })), otherwise: 1 } },
    ],
    ['leases', { ...MINUTE, consistency: 'leased' }, { consistency: 'leased' }],
    ['samples', { ...MINUTE, consistency: 'sampled' }, { consistency: 'sampled' }],
    [
      'eventual counts',
      { ...MINUTE, consistency: 'eventual', sync_interval: '2s' },
      { consistency: 'eventual', syncIntervalMs: 2_000 },
    ],
    [
      'what to do without a store',
      { ...MINUTE, on_store_failure: 'local', local_share: 0.5, timeout_ms: 20 },
      { onStoreFailure: 'local', localShare: 0.5, timeoutMs: 20 },
    ],
    [
      'a share of the budget without a store',
      { ...MINUTE, local_share: 0.5 },
      { onStoreFailure: 'local', localShare: 0.5 },
    ],
    ['a priority', { ...MINUTE, priority: 0 }, { priority: 0 }],
    [
      'a response',
      { ...MINUTE, response: { status: 503, body: 'full', headers: { 'X-A': '1', 'X-B': '' } } },
      { response: { status: 503, body: 'full', headers: Object.entries({ 'X-A': '1', 'X-B': '' }) } },
    ],
    [
      'a response whose body is an object',
      { ...MINUTE, response: { body: { error: { code: 7 } } } },
      { response: { status: 429, body: '{"error":{"code":7}}', headers: [] } },
    ],
    ['an empty response', { ...MINUTE, response: {} }, { response: { status: 429, body: undefined, headers: [] } }],
    ['a jitter', { ...MINUTE, retry_after_jitter: '1m' }, { retryAfterJitterMs: 60_000 }],
  ])('carries %s with the rule', (_, rateLimit, expected) => {
    expect(ruleOf(rateLimit)).toMatchObject(expected)
  })

  it('gives every rule an id that depends on its place in the tree only', () => {
    const tree: DescriptorRule[] = [
      { key: 'ip', rate_limit: MINUTE },
      {
        key: 'user',
        rate_limit: MINUTE,
        descriptors: [
          { key: 'path', value: '/login', rate_limit: MINUTE },
          { key: 'path', rate_limits: [MINUTE, { ...MINUTE, unit: 'day' }] },
        ],
      },
      { key: 'user', value: 'root', rate_limit: { ...MINUTE, name: 'root-user' } },
    ]
    const idsOf = (rules: RuleSet): string[] =>
      ['ip=1', 'user=a', 'user=a path=/login', 'user=a path=/', 'user=root'].flatMap((entries) =>
        rulesFor(rules, entries).map(({ id }) => id),
      )
    const ids = ['ip', 'user', 'user/path=/login', 'user/path', 'user/path#2', 'user=root']
    expect(idsOf(compile(...tree))).toEqual(ids)
    expect(idsOf(compile(...[...tree].reverse(), { key: 'new', rate_limit: MINUTE }))).toEqual(ids)
  })

  it('names a rule after its id unless its author names it', () => {
    expect(ruleOf(MINUTE).name).toBe('k')
    expect(ruleOf({ ...MINUTE, name: 'login' })).toMatchObject({ id: 'k', name: 'login' })
  })

  it('marks shadow rules, and not those below them', () => {
    const below = { key: 'b', rate_limit: MINUTE }
    const rules = compile(
      { key: 'a', shadow_mode: true, rate_limits: [MINUTE, MINUTE], descriptors: [below] },
      { key: 'c', shadow_mode: false, rate_limit: MINUTE },
    )
    const shadows = ['a=1', 'a=1 b=1', 'c=1'].map((entries) => rulesFor(rules, entries).map(({ shadow }) => shadow))
    expect(shadows).toEqual([[true, true], [false], [false]])
  })

  it('counts rules, over all domains and levels, without disabled ones', () => {
    const descriptors: DescriptorRule[] = [
      { key: 'a', rate_limits: [MINUTE, MINUTE], descriptors: [{ key: 'b', rate_limit: MINUTE }] },
      { key: 'off', enabled: false, rate_limit: MINUTE },
      { key: 'empty' },
    ]
    const rules = compileObjects([{ domain: 'x', descriptors }, { domain: 'y', descriptors }, { domain: 'z' }])
    expect([rules.ruleCount, [...rules.domains.keys()]]).toEqual([6, ['x', 'y', 'z']])
    expect(compileObjects([])).toMatchObject({ ruleCount: 0 })
  })

  it('is frozen where a mistake could change it', () => {
    const rules = compile({ key: 'k', rate_limit: MINUTE })
    expect(Object.isFrozen(rules)).toBe(true)
    for (const rule of rulesFor(rules, 'k=v')) {
      expect([Object.isFrozen(rule), Object.isFrozen(rule.limit)]).toEqual([true, true])
    }
  })

  it('takes domains named like parts of an object', () => {
    const names = ['__proto__', 'constructor', 'toString']
    const rules = compileObjects(names.map((domain) => ({ domain, descriptors: [{ key: 'k', rate_limit: MINUTE }] })))
    for (const name of names) expect(rulesFor(rules, 'k=v', name)).toHaveLength(1)
    expect(rules.domains.get('hasOwnProperty')).toBeUndefined()
  })

  it('takes the same key at another level, and with other values', () => {
    const same: DescriptorRule = {
      key: 'a',
      rate_limit: MINUTE,
      descriptors: [{ key: 'a', rate_limit: MINUTE }],
    }
    expect(compile(same, { ...same, value: '1' }, { ...same, value: '2' }).ruleCount).toBe(6)
  })

  const one = (changes: object): RuleFile => ({
    domain: 'd',
    descriptors: [{ key: 'k', rate_limit: { ...MINUTE, ...changes } }],
  })
  const level = (changes: object): RuleFile => ({ domain: 'd', descriptors: [{ key: 'k', ...changes }] })

  it.each<[string, unknown, RegExp]>([
    ['what is no object', 'rules', /^RULE_INVALID: rules\[0\]: got "rules"/],
    ['no domain', { descriptors: [] }, /^RULE_INVALID: rules\[0\]: domain is missing/],
    ['an empty domain', { domain: '' }, /^RULE_INVALID: rules\[0\]\.domain: /],
    ['a key it does not know', { domain: 'd', limits: [] }, /^RULE_UNKNOWN_KEY: rules\[0\]\.limits: "limits"/],
    ['a typo deep inside', one({ request_per_unit: 5 }), /\.descriptors\[0\]\.rate_limit\.request_per_unit: /],
    ['a descriptor without a key', { domain: 'd', descriptors: [{}] }, /^RULE_INVALID: .*\[0\]: key is missing/],
    ['a unit that does not exist', one({ unit: 'fortnight' }), /^RULE_INVALID: .*\.unit: .*got "fortnight"/],
    ['a unit and a window', one({ window: '1m' }), /^RULE_COMBINATION: .*\.window: window and unit cannot be combined/],
    ['neither unit nor window', one({ unit: undefined }), /^WINDOW_REQUIRED: /],
    ['a count below 0', one({ requests_per_unit: -1 }), /^RULE_INVALID: .*\.requests_per_unit: .*got -1/],
    ['a count that is not whole', one({ requests_per_unit: 1.5 }), /^RULE_INVALID: .*got 1\.5/],
    ['a count that is text', one({ requests_per_unit: '5' }), /^RULE_INVALID: .*got "5"/],
    ['a count beyond 32 bits', one({ requests_per_unit: 4_294_967_296 }), /^RULE_INVALID: .*got 4294967296/],
    ['no count', one({ requests_per_unit: undefined }), /requests_per_unit is missing/],
    ['an algorithm that does not exist', one({ algorithm: 'magic' }), /^RULE_INVALID: .*\.algorithm: .*got "magic"/],
    ['an option of another algorithm', one({ burst: 5 }), /^OPTION_NOT_APPLICABLE: .*\.burst: /],
    ['a meter that is no id', one({ ledger: 'my exports' }), /^RULE_INVALID: .*\.ledger: .*the id of a meter/],
    ['a ledger without a meter', one({ ledger: { amount: 1 } }), /^RULE_INVALID: .*\.ledger/],
    ['an amount of nothing', one({ ledger: { meter: 'm', amount: 0 } }), /^RULE_INVALID: .*\.ledger/],
    ['an amount that is a typo', one({ ledger: { meter: 'm', amount: 'setled' } }), /^RULE_INVALID: .*\.ledger/],
    [
      'a meter as a default',
      { domain: 'd', defaults: { ledger: 'm' }, descriptors: [] },
      /^RULE_UNKNOWN_KEY: .*\.defaults\.ledger/,
    ],
    ['an empty list of limits', level({ rate_limits: [] }), /^RULE_INVALID: .*\.rate_limits: /],
    [
      'one limit and several',
      level({ rate_limit: MINUTE, rate_limits: [MINUTE] }),
      /rate_limits and rate_limit cannot be combined/,
    ],
    [
      'a mistake in the second limit of a list',
      level({ rate_limits: [MINUTE, { ...MINUTE, burst: 2 }] }),
      /rate_limits\[1\]\.burst: /,
    ],
  ])('refuses %s, and says where', (_, file, message) => {
    expect(raisedBy(() => compileObjects([file as RuleFile]))).toMatch(message)
  })

  it.each<[string, DescriptorRule[], string]>([
    [
      'a bare key twice',
      [{ key: 'a' }, { key: 'b' }, { key: 'a' }],
      'RULE_DUPLICATE_KEY: rules[0].descriptors[2].key: "a" is already defined at rules[0].descriptors[0].key. ' +
        'A key, or a key with its value, must be unique within a level.',
    ],
    [
      'a key with the same value twice',
      [
        { key: 'a', value: '1' },
        { key: 'a', value: '2' },
        { key: 'a', value: '1' },
      ],
      'RULE_DUPLICATE_KEY: rules[0].descriptors[2].value: "a" with "1" is already defined at rules[0].descriptors[0].key. ' +
        'A key, or a key with its value, must be unique within a level.',
    ],
    [
      'a key named like a part of an object twice',
      [{ key: '__proto__' }, { key: '__proto__' }],
      'RULE_DUPLICATE_KEY: rules[0].descriptors[1].key: "__proto__" is already defined at rules[0].descriptors[0].key. ' +
        'A key, or a key with its value, must be unique within a level.',
    ],
  ])('refuses %s', (_, descriptors, message) => {
    expect(raisedBy(() => compile(...descriptors))).toBe(message)
  })

  it('refuses the same domain twice', () => {
    expect(raisedBy(() => compileObjects([{ domain: 'd' }, { domain: 'd' }]))).toBe(
      'RULE_DUPLICATE_DOMAIN: rules[1].domain: "d" is already defined at rules[0].domain. A domain must be defined only once. Rename one, or merge them.',
    )
  })
})

describe('consistency', () => {
  const of = (...descriptors: DescriptorRule[]): string => {
    const domain = compileObjects([{ domain: 'd', descriptors }]).domains.get('d') as Domain
    const entries = [
      { key: 'k', value: 'v' },
      { key: 'user', value: '42' },
    ]
    const address = [{ key: 'ip', value: '10.1.2.3' }]
    return [entries, entries.slice(0, 1), address].flatMap((each) => match(domain, each))[0].consistency
  }
  const rate = (changes: object = {}) => ({ rate_limit: { ...MINUTE, ...changes } })

  it.each<[string, DescriptorRule, string]>([
    ['leased, for a pattern without an open value', { key: 'k', value: 'v', ...rate() }, 'leased'],
    ['leased, where all values share a counter', { key: 'k', value: 'v*', share_threshold: true, ...rate() }, 'leased'],
    ['exact, where the pattern leaves the value open', { key: 'k', ...rate() }, 'exact'],
    ['exact, below a value that is left open', { key: 'k', descriptors: [{ key: 'user', ...rate() }] }, 'exact'],
    ['exact, for a wildcard', { key: 'k', value: 'v*', ...rate() }, 'exact'],
    ['exact, for a block of addresses', { key: 'ip', cidr: '10.0.0.0/8', ...rate() }, 'exact'],
    ['exact, for several blocks', { key: 'ip', cidr: ['10.0.0.0/8', '::/0'], ...rate() }, 'exact'],
    ['exact, where the rule says so', { key: 'k', value: 'v', ...rate({ consistency: 'exact' }) }, 'exact'],
    ['exact, where turns follow each other', { key: 'k', value: 'v', ...rate({ algorithm: 'leaky_bucket' }) }, 'exact'],
    ['exact, where refused hits count', { key: 'k', value: 'v', ...rate({ count_denied: true }) }, 'exact'],
    ['what the rule says', { key: 'k', ...rate({ consistency: 'eventual' }) }, 'eventual'],
  ])('is %s', (_, descriptor, expected) => {
    expect(of(descriptor)).toBe(expected)
  })
})
