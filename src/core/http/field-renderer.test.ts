import fc from 'fast-check'
import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { combine, type Decision, type RuleVerdict } from '../combine.ts'
import type { Rule } from '../rules/rule-set.ts'
import { allowed, impossible, refused, ruleNamed, verdictBy } from '../verdicts.suite.ts'
import { FIELD_FORMS, FieldRenderer, type FieldSettings } from './field-renderer.ts'

const NOW_MS = 1_700_000_000_000

const render = (settings: FieldSettings, decision: Decision, key?: string): Record<string, string> => {
  const { names, values, length } = new FieldRenderer(settings).render(decision, NOW_MS, key)
  return Object.fromEntries(Array.from({ length }, (_, i) => [names[i], values[i]]))
}

const two = combine([
  verdictBy(ruleNamed('day', { limit: 100, window: '1d' }), allowed(98, 3_600_000)),
  verdictBy('minute', allowed(2, 41_001)),
])

describe('FieldRenderer', () => {
  it('formats draft 6', () => {
    expect(render({ standard: 'draft-6', legacy: false }, two)).toEqual({
      'RateLimit-Policy': '10;w=60, 100;w=86400',
      'RateLimit-Limit': '10',
      'RateLimit-Remaining': '2',
      'RateLimit-Reset': '42',
    })
  })

  it('formats draft 7', () => {
    expect(render({ standard: 'draft-7', legacy: false }, two)).toEqual({
      'RateLimit-Policy': '10;w=60, 100;w=86400',
      RateLimit: 'limit=10, remaining=2, reset=42',
    })
  })

  it('formats draft 8, with a partition key', () => {
    expect(render({ standard: 'draft-8', legacy: false }, two, 'a2V5')).toEqual({
      'RateLimit-Policy': '"minute"; q=10; w=60; pk=:a2V5:, "day"; q=100; w=86400; pk=:a2V5:',
      RateLimit: '"minute"; r=2; t=42, "day"; r=98; t=3600',
    })
  })

  it('leaves out what is not wanted', () => {
    const decision = combine([verdictBy('minute', refused(12_001))])
    expect(render({ standard: false }, decision)).toEqual({
      'X-RateLimit-Limit': '10',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1700000013',
      'Retry-After': '13',
    })
    expect(render({ standard: false, legacy: false }, decision)).toEqual({ 'Retry-After': '13' })
    expect(render({ standard: false, legacy: false, retryAfter: false }, decision)).toEqual({})
  })

  it('fills the same list again and again, with nothing left of what it held', () => {
    const renderer = new FieldRenderer()
    const first = renderer.render(combine([verdictBy('a', refused(5_000))]), NOW_MS)
    expect([first.length, first.retryAfterSeconds]).toEqual([6, 5])
    const second = renderer.render(combine([verdictBy('a', allowed(1))]), NOW_MS)
    expect(second).toBe(first)
    expect([second.length, second.retryAfterSeconds]).toEqual([5, undefined])
  })

  it('spreads Retry-After by the jitter of the rule, and never says it sooner', () => {
    const jittery: Rule = { ...ruleNamed('r'), retryAfterJitterMs: 10_000 }
    const decision = combine([verdictBy(jittery, refused(5_000))])
    const spread = (random: number): Record<string, string> => render({ random: () => random }, decision)
    expect([0, 0.5, 0.9999].map((random) => spread(random)['Retry-After'])).toEqual(['5', '10', '15'])
    expect(spread(0.9999)).toMatchObject({ RateLimit: '"r";r=0;t=5', 'X-RateLimit-Reset': '1700000005' })
    expect(render({ random: () => 0.9 }, combine([verdictBy('r', refused(5_000))]))['Retry-After']).toBe('5')
  })

  const count = fc.nat(4_294_967_295)
  const milliseconds = fc.integer({ min: 0, max: 315_360_000_000 })
  const verdict = fc.oneof(
    fc.tuple(count, milliseconds).map(([remaining, reset]) => allowed(remaining, reset)),
    fc.tuple(milliseconds, count).map(([retry, remaining]) => refused(retry, remaining)),
    count.map((remaining) => impossible(10, remaining)),
  )
  const hostile = fc.constantFrom('"', '\\', ',', ';', '\r', '\n', '\0', 'é', '\u{1f4a9}', '\ud800', ':', '=', '?')
  const name = fc.string({
    unit: fc.oneof(hostile, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })),
    minLength: 1,
  })
  const rule = fc
    .tuple(name, fc.constantFrom('window', 'places', 'calendar'), fc.nat(60_000))
    .map(([given, kind, retryAfterJitterMs]): Rule => {
      const limit =
        kind === 'window'
          ? { limit: 10, window: 1_500 }
          : kind === 'places'
            ? ({ limit: 10, algorithm: 'concurrency' } as const)
            : ({ limit: 10, algorithm: 'fixed_window', calendar: { unit: 'month' } } as const)
      return { ...ruleNamed(given, limit), retryAfterJitterMs }
    })
  const verdicts = fc.array(fc.tuple(rule, verdict), { minLength: 1, maxLength: 8 })
  const decisions = verdicts.map((all): [Decision, RuleVerdict[]] => {
    const list = all.map(([given, each]) => verdictBy(given, each))
    return [combine(list), list]
  })

  it('never breaks out of a field, in any form, whatever rules and keys are called', () => {
    fc.assert(
      fc.property(
        decisions,
        fc.constantFrom(...FIELD_FORMS),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        ([decision], standard, random) => {
          const fields = render({ standard, random: () => random }, decision, 'a2V5')
          for (const [field, value] of Object.entries(fields)) {
            expect(field).toMatch(/^[A-Za-z-]+$/)
            expect(value).toMatch(/^[\x20-\x7e]*$/)
          }
          // Drafts 6 and 7 had a dictionary here, and a list of numbers there; both are structured fields, too.
          if (standard === 'draft-6' || standard === 'draft-7') parseList(fields['RateLimit-Policy'])
          else {
            const policies = parseList(fields['RateLimit-Policy'])
            const budgets = parseList(fields.RateLimit)
            expect(budgets.map(([given]) => given)).toEqual(policies.map(([given]) => given))
            for (const [, parameters] of policies) expect(parameters.get('q')).toBe(10)
          }
        },
      ),
    )
  })

  it('never says Retry-After below 1, nor before t, nor later than the jitter allows', () => {
    fc.assert(
      fc.property(decisions, fc.double({ min: 0, max: 0.999, noNaN: true }), ([decision], random) => {
        const fields = render({ random: () => random }, decision)
        expect('Retry-After' in fields).toBe(decision.retryAfterMs !== undefined)
        if (decision.retryAfterMs === undefined) return
        const seconds = Number(fields['Retry-After'])
        const [[, budget]] = parseList(fields.RateLimit)
        expect(seconds).toBeGreaterThanOrEqual(Math.max(1, budget.get('t') as number))
        const jitterMs = decision.tightest?.rule.retryAfterJitterMs ?? 0
        expect(seconds).toBeLessThanOrEqual(Math.max(1, Math.ceil((decision.retryAfterMs + jitterMs) / 1000)))
      }),
    )
  })
})
