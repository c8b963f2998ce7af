import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { combine, type RuleVerdict, UNLIMITED } from './combine.ts'
import { UNLIMITED_VERDICT, type Verdict } from './decision.ts'
import { allowed, impossible, refused, ruleNamed, verdictBy } from './verdicts.suite.ts'

const shadow = (name: string, verdict: Verdict): RuleVerdict => verdictBy(ruleNamed(name, undefined, true), verdict)

const quota = (name: string, verdict: Verdict): RuleVerdict => verdictBy({ ...ruleNamed(name), quota: true }, verdict)

describe('combine', () => {
  it.each<[string, RuleVerdict[], { allowed: boolean; tightest?: string; retryAfterMs?: number; delayMs?: number }]>([
    ['allows when there is no verdict', [], { allowed: true }],
    ['allows when the only rule does', [verdictBy('a', allowed(3))], { allowed: true, tightest: 'a' }],
    [
      'refuses when one of many refuses',
      [verdictBy('a', allowed(3)), verdictBy('b', refused(500)), verdictBy('c', allowed(0))],
      { allowed: false, tightest: 'b', retryAfterMs: 500 },
    ],
    [
      'waits for the rule that takes longest',
      [verdictBy('a', refused(500)), verdictBy('b', refused(9_000)), verdictBy('c', refused(20))],
      { allowed: false, tightest: 'b', retryAfterMs: 9_000 },
    ],
    [
      'gives no time to wait when one rule never admits the cost, however the others stand',
      [verdictBy('a', refused(9_000)), verdictBy('b', impossible()), verdictBy('c', refused(20))],
      { allowed: false, tightest: 'b' },
    ],
    [
      'names the rule with the least left when all allow',
      [verdictBy('a', allowed(3)), verdictBy('b', allowed(1)), verdictBy('c', allowed(2))],
      { allowed: true, tightest: 'b' },
    ],
    [
      'names the rule that resets later when as much is left',
      [verdictBy('a', allowed(3, 1_000)), verdictBy('b', allowed(3, 5_000)), verdictBy('c', allowed(3, 2_000))],
      { allowed: true, tightest: 'b' },
    ],
    [
      'names the first of two rules that stand alike',
      [verdictBy('a', allowed(3)), verdictBy('b', allowed(3))],
      { allowed: true, tightest: 'a' },
    ],
    [
      'lets a request pass that only a shadow rule refuses',
      [shadow('a', refused(500)), verdictBy('b', allowed(3))],
      { allowed: true, tightest: 'b' },
    ],
    ['lets a request pass that a shadow rule never admits', [shadow('a', impossible())], { allowed: true }],
    [
      'continues after the longest delay',
      [verdictBy('a', allowed(3, 0, 200)), verdictBy('b', allowed(1, 0, 0)), verdictBy('c', allowed(2, 0, 900))],
      { allowed: true, tightest: 'b', delayMs: 900 },
    ],
    [
      'lets a request pass that one rule in quota mode admits',
      [quota('a', refused(500)), quota('b', allowed(3)), verdictBy('c', allowed(9))],
      { allowed: true, tightest: 'b' },
    ],
    [
      'refuses when all rules in quota mode refuse',
      [quota('a', refused(500)), quota('b', refused(900)), verdictBy('c', allowed(9))],
      { allowed: false, tightest: 'b', retryAfterMs: 900 },
    ],
    [
      'lets a request pass where one of the rules in quota mode only reports, for that one always passes',
      [quota('a', refused(500)), verdictBy({ ...ruleNamed('b'), quota: true, shadow: true }, refused(900))],
      { allowed: true },
    ],
    [
      'refuses when another rule refuses, though one in quota mode admits',
      [quota('a', refused(500)), quota('b', allowed(3)), verdictBy('c', refused(20))],
      { allowed: false, tightest: 'c', retryAfterMs: 20 },
    ],
    [
      'names no rule without a limit',
      [verdictBy({ ...ruleNamed('a'), unlimited: true }, UNLIMITED_VERDICT)],
      { allowed: true },
    ],
    ['does not delay for a shadow rule', [shadow('a', allowed(3, 0, 200))], { allowed: true }],
    [
      'has no delay when it refuses',
      [verdictBy('a', allowed(3, 0, 200)), verdictBy('b', refused(500))],
      { allowed: false, tightest: 'b', retryAfterMs: 500 },
    ],
  ])('%s', (_, verdicts, expected) => {
    const decision = combine(verdicts)
    expect({
      allowed: decision.allowed,
      tightest: decision.tightest?.rule.name,
      retryAfterMs: decision.retryAfterMs,
      delayMs: decision.delayMs,
    }).toEqual({ tightest: undefined, retryAfterMs: undefined, delayMs: 0, ...expected })
  })

  it('keeps every verdict, in order, shadow rules too', () => {
    const verdicts = [shadow('a', refused(500)), verdictBy('b', allowed(3), 1)]
    expect(combine(verdicts).verdicts).toEqual(verdicts)
  })

  it('decides the same in whatever order the verdicts come', () => {
    const verdict = fc.oneof(
      fc.tuple(fc.nat(5), fc.nat(5), fc.nat(5)).map(([remaining, reset, delay]) => allowed(remaining, reset, delay)),
      fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(5)).map(([retry, remaining]) => refused(retry, remaining)),
      fc.constant(impossible()),
    )
    const each = fc.tuple(verdict, fc.boolean()).map(([given, isShadow]) => (isShadow ? shadow : verdictBy)('x', given))
    fc.assert(
      fc.property(fc.array(each, { maxLength: 6 }), (verdicts) => {
        const one = combine(verdicts)
        const other = combine([...verdicts].reverse())
        const binding = verdicts.filter(({ rule }) => !rule.shadow)
        expect(one.allowed).toBe(binding.every((b) => b.verdict.allowed))
        expect([other.allowed, other.retryAfterMs, other.delayMs]).toEqual([one.allowed, one.retryAfterMs, one.delayMs])
        expect(other.tightest?.verdict.kind).toBe(one.tightest?.verdict.kind)
      }),
    )
  })
})

describe('UNLIMITED', () => {
  it('is what no verdict at all combines to', () => {
    expect(UNLIMITED).toEqual(combine([]))
  })

  it('is frozen, because every request without a rule shares it', () => {
    expect(Object.isFrozen(UNLIMITED)).toBe(true)
    expect(Object.isFrozen(UNLIMITED.verdicts)).toBe(true)
  })
})
