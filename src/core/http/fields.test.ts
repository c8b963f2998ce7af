import fc from 'fast-check'
import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { combine, type RuleVerdict } from '../combine.ts'
import { UNLIMITED_VERDICT } from '../decision.ts'
import type { LimitOptions } from '../limit.ts'
import { allowed, impossible, refused, ruleNamed, verdictBy } from '../verdicts.suite.ts'
import { rateLimitFields } from './fields.ts'

const NOW_MS = 1_700_000_000_000

const render = (...verdicts: RuleVerdict[]): Record<string, string> =>
  Object.fromEntries(rateLimitFields(combine(verdicts), NOW_MS))

/** Reads a field with an independent parser: [name, parameters] of each member. */
const members = (field: string): [unknown, Record<string, unknown>][] =>
  parseList(field).map(([name, parameters]) => [name, Object.fromEntries(parameters)])

describe('rateLimitFields', () => {
  it('renders an allowed request', () => {
    expect(rateLimitFields(combine([verdictBy('per-user', allowed(7, 41_001))]), NOW_MS)).toEqual([
      ['RateLimit-Policy', '"per-user";q=10;w=60'],
      ['RateLimit', '"per-user";r=7;t=42'],
      ['X-RateLimit-Limit', '10'],
      ['X-RateLimit-Remaining', '7'],
      ['X-RateLimit-Reset', '1700000042'],
    ])
  })

  it('leaves out a rule that was not asked', () => {
    const unasked = verdictBy('unknown', { ...allowed(0), unasked: true })
    expect(members(render(verdictBy('per-user', refused(1_000)), unasked).RateLimit).map(([name]) => name)).toEqual([
      'per-user',
    ])
  })

  it('renders a refused request, with the time at which the same request is admitted', () => {
    expect(rateLimitFields(combine([verdictBy('per-user', refused(12_001, 0, 59_000))]), NOW_MS)).toEqual([
      ['RateLimit-Policy', '"per-user";q=10;w=60'],
      ['RateLimit', '"per-user";r=0;t=13'],
      ['X-RateLimit-Limit', '10'],
      ['X-RateLimit-Remaining', '0'],
      ['X-RateLimit-Reset', '1700000013'],
      ['Retry-After', '13'],
    ])
  })

  it('renders nothing when no rule applied', () => {
    expect(render()).toEqual({})
  })

  it('has no Retry-After where waiting never helps', () => {
    expect(render(verdictBy('per-user', impossible(10, 10)))).toEqual({
      'RateLimit-Policy': '"per-user";q=10;w=60',
      RateLimit: '"per-user";r=10;t=0',
      'X-RateLimit-Limit': '10',
      'X-RateLimit-Remaining': '10',
      'X-RateLimit-Reset': '1700000000',
    })
  })

  it.each<[string, LimitOptions, string]>([
    ['a window of whole seconds', { limit: 100, window: '1h' }, '"p";q=100;w=3600'],
    ['a window with a fraction of a second, rounded up', { limit: 100, window: 1_500 }, '"p";q=100;w=2'],
    ['a window below a second as one second', { limit: 100, window: 10 }, '"p";q=100;w=1'],
    ['a limit that blocks everything', { limit: 0, window: '1m' }, '"p";q=0;w=60'],
    ['the largest limit', { limit: 4_294_967_295, window: '1d' }, '"p";q=4294967295;w=86400'],
    ['a calendar without a window', { limit: 9, algorithm: 'fixed_window', calendar: { unit: 'month' } }, '"p";q=9'],
    ['places', { limit: 4, algorithm: 'concurrency' }, '"p";q=4;qu="concurrent-requests"'],
  ])('writes the policy of %s', (_, limit, expected) => {
    expect(render(verdictBy(ruleNamed('p', limit), allowed(1)))['RateLimit-Policy']).toBe(expected)
  })

  it('lists several policies, the tightest first', () => {
    const daily = ruleNamed('daily', { limit: 100, window: '1d' })
    expect(render(verdictBy(daily, allowed(98, 3_600_000)), verdictBy('minute', allowed(2)))).toMatchObject({
      'RateLimit-Policy': '"minute";q=10;w=60, "daily";q=100;w=86400',
      RateLimit: '"minute";r=2;t=60, "daily";r=98;t=3600',
      'X-RateLimit-Remaining': '2',
    })
  })

  it('does not list shadow rules, whether they refuse or not', () => {
    const hidden = verdictBy(ruleNamed('hidden', undefined, true), refused(90_000))
    expect(render(hidden, verdictBy('seen', allowed(2)))).toMatchObject({
      'RateLimit-Policy': '"seen";q=10;w=60',
      RateLimit: '"seen";r=2;t=60',
    })
    expect(render(hidden)).toEqual({})
  })

  it('does not list rules without a limit', () => {
    const free = verdictBy({ ...ruleNamed('free'), unlimited: true }, UNLIMITED_VERDICT)
    expect(render(free, verdictBy('seen', allowed(2)))).toMatchObject({
      'RateLimit-Policy': '"seen";q=10;w=60',
      RateLimit: '"seen";r=2;t=60',
    })
    expect(render(free)).toEqual({})
  })

  it('lists a rule that applied to several descriptors once, as it stands for the tightest', () => {
    const rule = ruleNamed('per-user')
    const other = verdictBy('other', allowed(1))
    expect(render(verdictBy(rule, allowed(9), 0), other, verdictBy(rule, allowed(4), 1))).toMatchObject({
      'RateLimit-Policy': '"other";q=10;w=60, "per-user";q=10;w=60',
      RateLimit: '"other";r=1;t=60, "per-user";r=4;t=60',
    })
  })

  it('stays short enough for clients and proxies, however many rules apply', () => {
    const many = Array.from({ length: 1_000 }, (_, i) => verdictBy(`${i}${'"'.repeat(5_000)}`, allowed(1_000 - i)))
    const fields = render(...many)
    expect(Object.values(fields).join('').length).toBeLessThan(4_096)
    expect(fields.RateLimit).toMatch(/^"999%22/)
    expect(members(fields.RateLimit).map(([each]) => each)).toEqual(
      members(fields['RateLimit-Policy']).map(([each]) => each),
    )
  })

  it('lists rules whose names have as many letters beyond ASCII, each under its own name', () => {
    const fields = render(verdictBy('制限', allowed(1)), verdictBy('制度', allowed(2)))
    expect(members(fields.RateLimit).map(([name]) => decodeURIComponent(String(name)))).toEqual(['制限', '制度'])
  })

  it('lists thirty rules of ordinary names', () => {
    const many = Array.from({ length: 30 }, (_, i) => verdictBy(`per-user-${i}`, allowed(i)))
    expect(members(render(...many).RateLimit)).toHaveLength(30)
  })

  it.each([
    ['quotes', 'a"b', '"a%22b"'],
    ['backslashes', 'a\\b', '"a%5Cb"'],
    ['a line break, which would start another field', 'a\r\nSet-Cookie: b', '"a%0D%0ASet-Cookie: b"'],
    ['letters beyond ASCII', 'größe', '"gr%C3%B6%C3%9Fe"'],
    ['what looks like parameters and members', 'a";q=1, "b', '"a%22;q=1, %22b"'],
  ])('escapes %s in a name', (_, name, encoded) => {
    expect(render(verdictBy(name, allowed(1)))).toMatchObject({
      'RateLimit-Policy': `${encoded};q=10;w=60`,
      RateLimit: `${encoded};r=1;t=60`,
    })
  })

  const count = fc.nat(4_294_967_295)
  const milliseconds = fc.integer({ min: 0, max: 315_360_000_000 })
  const verdict = fc.oneof(
    fc.tuple(count, milliseconds).map(([remaining, reset]) => allowed(remaining, reset)),
    fc.tuple(milliseconds, count).map(([retry, remaining]) => refused(retry, remaining)),
    count.map((remaining) => impossible(10, remaining)),
  )
  const name = fc.string({
    unit: fc.oneof(fc.constantFrom('"', '\\', ',', ';', '\r', '\n', 'é'), fc.string()),
    minLength: 1,
  })
  const verdicts = fc
    .uniqueArray(fc.tuple(name, verdict), { minLength: 1, maxLength: 5, selector: ([given]) => given })
    .map((all) => all.map(([given, each]) => verdictBy(given, each)))

  it('is valid by RFC 9651 whatever the rules are called', () => {
    fc.assert(
      fc.property(verdicts, (all) => {
        const fields = render(...all)
        const policies = members(fields['RateLimit-Policy'])
        const budgets = members(fields.RateLimit)
        expect(policies.map(([given]) => given)).toEqual(budgets.map(([given]) => given))
        expect(new Set(policies.map(([given]) => given)).size).toBe(policies.length)
        for (const [, { q, w }] of policies) expect([q, w]).toEqual([10, 60])
        for (const [, { r, t }] of budgets) {
          expect(Number.isInteger(r) && Number.isInteger(t) && (r as number) >= 0 && (t as number) >= 0).toBe(true)
        }
      }),
    )
  })

  it('never says Retry-After before the t of a rule that refuses, nor 0', () => {
    fc.assert(
      fc.property(verdicts, (all) => {
        const fields = render(...all)
        const decision = combine(all)
        expect('Retry-After' in fields).toBe(decision.retryAfterMs !== undefined)
        if (decision.retryAfterMs === undefined) return
        const retryAfter = Number(fields['Retry-After'])
        expect(retryAfter).toBeGreaterThanOrEqual(1)
        expect(retryAfter * 1_000).toBeGreaterThanOrEqual(decision.retryAfterMs)
        const [[, { t }]] = members(fields.RateLimit)
        expect(retryAfter).toBeGreaterThanOrEqual(t as number)
        for (const { verdict: each } of all) {
          if (each.kind === 'refused') expect(retryAfter * 1_000).toBeGreaterThanOrEqual(each.retryAfterMs)
        }
      }),
    )
  })
})
