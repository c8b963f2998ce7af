import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { MAX_COUNT } from '../../src/core/limit.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { match } from '../../src/core/rules/match.ts'
import type { Domain, Rule } from '../../src/core/rules/rule-set.ts'
import { readRuleFiles } from '../../src/sources/rule-files.ts'
import { entriesOf, type Scene, sceneOf, standings } from './examples.suite.ts'

const directory = fileURLToPath(new URL('../fixtures/rules/envoy', import.meta.url))
const rules = loadRules(await readRuleFiles([directory]))
const domainOf = (name: string): Domain => rules.domains.get(name) as Domain
const rulesFor = (domain: string, entries: string): readonly Rule[] => match(domainOf(domain), entriesOf(entries))

/** Formats the one limit that applies: `20 per 1000`. */
function limitOf(domain: string, entries: string): string {
  const found = rulesFor(domain, entries)
  if (found.length === 0) return 'none'
  return found.map(({ limit, unlimited }) => (unlimited ? 'unlimited' : `${limit.max} per ${limit.windowMs}`)).join()
}

const scene = (): Scene => sceneOf(rules, 'modes')

describe('a directory of rules for envoyproxy/ratelimit', () => {
  it('loads as it is', () => {
    expect([[...rules.domains.keys()].sort(), rules.ruleCount]).toEqual([
      ['metrics', 'modes', 'nothing-yet', 'shop'],
      30,
    ])
  })

  it.each<[claim: string, entries: string, limit: string]>([
    ['a bare key covers every value', 'remote_address=203.0.113.1', '20 per 1000'],
    ['an exact value goes before the bare key', 'remote_address=198.51.100.7', '0 per 1000'],
    ['an exact value can be unlimited', 'remote_address=198.51.100.8', 'unlimited'],
    ['units are read in any case', 'path=/cart/1', '60 per 60000'],
    ['an exact value goes before a wildcard', 'path=/cart/9/items', '30 per 60000'],
    ['of two wildcards the first in the file is taken', 'path=/cart/8/items', '60 per 60000'],
    ['even where a later one says more', 'path=/cart/8/pay', '60 per 60000'],
    ['a wildcard may start with the star', 'path=/wishlist/items', '50 per 60000'],
    ['a star stands for nothing, too', 'path=/cart/', '60 per 60000'],
    ['a wildcard goes before the bare key', 'path=/cart/1/2/3', '60 per 60000'],
    ['the bare key is the last resort', 'path=/cart', '20 per 60000'],
    ['a limit applies at its own depth', 'partner=zenith', '1000 per 3600000'],
    ['and deeper limits at theirs', 'partner=zenith, action=search', '100 per 60000'],
    ['with their own bare key', 'partner=zenith, action=order', '10 per 60000'],
    ['a descriptor that continues below the last limit is not limited', 'partner=zenith, action=order, page=1', 'none'],
    ['a level without a limit is no limit', 'partner=acme-one', 'none'],
    ['a wildcard leads to its own levels', 'partner=acme-one, action=search', '200 per 60000'],
    ['and never back to the bare key', 'partner=acme-one, action=order', 'none'],
    ['an exact value that leads nowhere is not left again', 'partner=acme-test, action=search', 'none'],
    ['although it has a limit at its own depth', 'partner=acme-test', '5 per 86400000'],
    ['the order of entries matters', 'action=search, partner=zenith', 'none'],
    ['a number without quotes is a text', 'status=404', '4 per 60000'],
    ['and nothing but that text', 'status=0404', 'none'],
    ['a number keeps its zeros', 'version=1.10', '11 per 60000'],
    ['and is not read as a number', 'version=1.1', 'none'],
    ['a boolean without quotes is a text', 'beta=true', '2 per 60000'],
    ['an empty value is a bare key', 'country=de', '7 per 604800000'],
    ['so is a value that is not given', 'language=de', '30 per 2592000000'],
    ['an unknown key is not limited', 'colour=blue', 'none'],
    ['no entry at all is not limited', '', 'none'],
  ])('%s: %s is %s', (_, entries, limit) => {
    expect(limitOf('shop', entries)).toBe(limit)
  })

  it('allows a domain that it does not know, and one without rules', () => {
    for (const domain of ['nothing-yet', 'unheard-of']) {
      expect(sceneOf(rules, domain).check('remote_address=198.51.100.7')).toMatchObject({ allowed: true, verdicts: [] })
    }
  })

  it('hands on metadata and what metrics name', () => {
    const [{ path }] = rulesFor('metrics', 'route=/pay, method=GET')
    expect(path).toMatchObject([
      { detailedMetric: true, valueToMetric: true, metadata: { team: 'payments', value: 5 }, sharedAs: undefined },
      { detailedMetric: false, valueToMetric: true, metadata: undefined, sharedAs: '*' },
    ])
  })
})

describe('a decision on rules for envoyproxy/ratelimit', () => {
  it('refuses everything where the limit is 0, and waiting does not help', () => {
    const { allowed, retryAfterMs, tightest } = sceneOf(rules, 'shop').check('remote_address=198.51.100.7')
    expect([allowed, retryAfterMs, tightest?.verdict.kind]).toEqual([false, undefined, 'impossible'])
  })

  it('does not ask the store where there is no limit, and has the largest number left', () => {
    const { check, store } = sceneOf(rules, 'shop')
    const { allowed, tightest, verdicts } = check('remote_address=198.51.100.8')
    expect([allowed, tightest, verdicts[0].verdict.remaining]).toEqual([true, undefined, MAX_COUNT])
    expect([MAX_COUNT, store.stats.keys]).toEqual([4_294_967_295, 0])
  })

  it('reports a rule in shadow mode, and refuses no one for it', () => {
    const { check } = scene()
    expect([1, 2, 3].map(() => check('trial=a')).map((each) => [each.allowed, standings(each)])).toEqual([
      [true, ['trial 0 allowed']],
      [true, ['trial 0 refused']],
      [true, ['trial 0 refused']],
    ])
  })

  it.each<[used: string[], descriptors: string[], allowed: boolean]>([
    [[], ['included=a', 'bought=a'], true],
    [['included=a'], ['included=a', 'bought=a'], true],
    [['bought=a', 'bought=a'], ['included=a', 'bought=a'], true],
    [['included=a', 'bought=a', 'bought=a'], ['included=a', 'bought=a'], false],
    [['included=a'], ['included=a'], false],
    [['included=a'], ['included=a', 'safety=a'], false],
    [['included=a'], ['included=a', 'bought=a', 'safety=a'], true],
    [['safety=a', 'safety=a', 'safety=a', 'safety=a'], ['included=a', 'bought=a', 'safety=a'], false],
    [['safety=a', 'safety=a', 'safety=a', 'safety=a'], ['included=a'], true],
  ])('in quota mode, after %j, %j is allowed: %j', (used, descriptors, allowed) => {
    const { check } = scene()
    for (const each of used) check(each)
    expect(check(descriptors).allowed).toBe(allowed)
  })

  it('in quota mode, charges the budget that admits, and not the exhausted one', () => {
    const { check } = scene()
    const both = ['included=a', 'bought=a']
    expect([1, 2, 3].map(() => standings(check(both)))).toEqual([
      ['included 0 allowed', 'bought 1 allowed'],
      ['included 0 refused', 'bought 0 allowed'],
      ['included 0 refused', 'bought 0 refused'],
    ])
  })

  it('counts all values of a shared threshold together, and any other’s separately', () => {
    const { check } = scene()
    const names = ['a', 'b', 'c', 'd']
    expect(names.map((name) => check(`tenant=shared-${name}`).allowed)).toEqual([true, true, true, false])
    expect(names.map((name) => check(`tenant=apart-${name}`).allowed)).toEqual([true, true, true, true])
    expect(names.map((name) => check(`tenant=shared-${name}, job=nightly`).allowed)).toEqual([true, true, false, false])
    expect(check('tenant=shared-a, job=hourly').allowed).toBe(true)
  })

  it.each<[claim: string, descriptors: string[], expected: string[]]>([
    ['a limit applies where nothing replaces it', ['everybody=a'], ['everybody 0 allowed']],
    ['a replaced limit gives no verdict', ['everybody=a', 'staff=a'], ['staff 4 allowed']],
    ['in any order', ['staff=a', 'everybody=a'], ['staff 4 allowed']],
    ['an unlimited one replaces too', ['everybody=a', 'guest_of_honour=a'], ['guest_of_honour 4294967295 allowed']],
    [
      'one that is replaced still replaces',
      ['everybody=a', 'staff=a', 'guest_of_honour=a'],
      ['guest_of_honour 4294967295 allowed'],
    ],
    ['only within one request', ['staff=a'], ['staff 4 allowed']],
  ])('%s', (_, descriptors, expected) => {
    const { check } = scene()
    check('everybody=b')
    expect(standings(check(descriptors))).toEqual(expected)
  })

  it('does not charge a limit that is replaced', () => {
    const { check } = scene()
    for (let i = 0; i < 3; i++) check(['everybody=a', 'staff=a'])
    expect(standings(check('everybody=a', 0))).toEqual(['everybody 1 allowed'])
  })
})

describe('a limit that a request brings along', () => {
  const entries = entriesOf('everybody=a')
  const limit = { requestsPerUnit: 2, unit: 'hour' } as const

  it('goes before the rules', () => {
    const { check } = scene()
    const answers = [1, 2, 3].map(() => check([{ entries, limit }]))
    expect(answers.flatMap(standings)).toEqual(['override 1 allowed', 'override 0 allowed', 'override 0 refused'])
    expect(answers[0].verdicts[0].verdict.limit).toBe(2)
  })

  it('applies where no rule matches, as long as the domain is known', () => {
    const unknown = { entries: entriesOf('colour=blue, shade=dark'), limit }
    for (const domain of ['modes', 'nothing-yet']) {
      const { check } = sceneOf(rules, domain)
      expect([1, 2, 3].map(() => check([unknown]).allowed)).toEqual([true, true, false])
    }
    const { check } = sceneOf(rules, 'unheard-of')
    expect([1, 2, 3].map(() => check([unknown]).verdicts)).toEqual([[], [], []])
  })

  it('counts each descriptor apart, and keeps what was used when its count changes', () => {
    const { check } = scene()
    check([{ entries, limit }])
    expect(standings(check([{ entries: entriesOf('everybody=b'), limit }]))).toEqual(['override 1 allowed'])
    expect(standings(check([{ entries, limit: { ...limit, requestsPerUnit: 9 } }]))).toEqual(['override 7 allowed'])
    expect(standings(check([{ entries, limit: { ...limit, unit: 'day' } }]))).toEqual(['override 1 allowed'])
  })

  it('does not touch the counter of a rule, whatever the rule is called', () => {
    const text = 'domain: d\ndescriptors:\n- { key: override, rate_limit: { unit: hour, requests_per_unit: 2 } }\n'
    const { check } = sceneOf(loadRules([{ file: 'f', text }]), 'd')
    check([{ entries: entriesOf('override=a'), limit }])
    expect(standings(check('override=a'))).toEqual(['override 1 allowed'])
  })

  it('coexists with descriptors that follow the rules', () => {
    const { check } = scene()
    expect(standings(check(['safety=a', { entries, limit }]))).toEqual(['safety 3 allowed', 'override 1 allowed'])
  })

  it.each([
    [
      { requestsPerUnit: -1, unit: 'hour' },
      'LIMIT_INVALID: limit.limit: got -1. A limit must be a whole number from 0 to 4294967295.',
    ],
    [
      { requestsPerUnit: 1, unit: 'fortnight' },
      'WINDOW_REQUIRED: limit.window: not given. Every algorithm except concurrency needs a window, such as "1m"; fixed_window also accepts a calendar.',
    ],
  ])('is refused when it is none: %j', (bad, message) => {
    const { check } = scene()
    expect(() => check([{ entries, limit: bad as never }])).toThrow(expect.objectContaining({ message }))
  })
})
