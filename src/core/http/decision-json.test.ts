import { describe, expect, it } from 'vitest'
import { combine, UNLIMITED } from '../combine.ts'
import { allowed, impossible, refused, ruleNamed, verdictBy } from '../verdicts.suite.ts'
import { decisionJson } from './decision-json.ts'

/** What a client gets: undefined fields are gone. */
const asRead = (decision: Parameters<typeof decisionJson>[0]): unknown =>
  JSON.parse(JSON.stringify(decisionJson(decision)))

describe('decisionJson', () => {
  it('says that no rule applied', () => {
    expect(asRead(UNLIMITED)).toEqual({ allowed: true, verdicts: [] })
  })

  it('names the rule that decided, and what every rule said', () => {
    expect(asRead(combine([verdictBy('a', allowed(7)), verdictBy('b', allowed(3, 5_000), 1)]))).toEqual({
      allowed: true,
      rule: 'b',
      verdicts: [
        { rule: 'a', descriptor: 0, kind: 'allowed', limit: 10, remaining: 7, resetAfterMs: 60_000, delayMs: 0 },
        { rule: 'b', descriptor: 1, kind: 'allowed', limit: 10, remaining: 3, resetAfterMs: 5_000, delayMs: 0 },
      ],
    })
  })

  it('says when a refused request is admitted, and why it was refused', () => {
    expect(asRead(combine([verdictBy('a', refused(1_250, 2))]))).toEqual({
      allowed: false,
      retryAfterMs: 1_250,
      rule: 'a',
      reason: 'rule "a" has 2 of 10 left; admitted again in 1250 ms',
      verdicts: [
        {
          rule: 'a',
          descriptor: 0,
          kind: 'refused',
          limit: 10,
          remaining: 2,
          resetAfterMs: 60_000,
          retryAfterMs: 1_250,
        },
      ],
    })
  })

  it('shows only the limit of a rule that was not asked', () => {
    const unasked = verdictBy('b', { ...allowed(0), unasked: true }, 1)
    expect(asRead(combine([verdictBy('a', refused(1_000)), unasked]))).toMatchObject({
      verdicts: [{ rule: 'a' }, { rule: 'b', descriptor: 1, kind: 'unasked', limit: 10 }],
    })
  })

  it('says that waiting never helps, and gives no time to wait', () => {
    expect(asRead(combine([verdictBy('a', impossible(10))]))).toEqual({
      allowed: false,
      rule: 'a',
      reason: 'rule "a" admits a cost of at most 10, however long one waits',
      verdicts: [
        { rule: 'a', descriptor: 0, kind: 'impossible', limit: 10, remaining: 10, resetAfterMs: 0, maxCost: 10 },
      ],
    })
  })

  it('says how long an admitted request is to wait', () => {
    expect(asRead(combine([verdictBy('a', allowed(0, 900, 300))]))).toMatchObject({ allowed: true, delayMs: 300 })
  })

  it('marks what a shadow rule said', () => {
    expect(asRead(combine([verdictBy(ruleNamed('s', undefined, true), refused(500))]))).toEqual({
      allowed: true,
      verdicts: [
        {
          rule: 's',
          descriptor: 0,
          kind: 'refused',
          shadow: true,
          limit: 10,
          remaining: 0,
          resetAfterMs: 60_000,
          retryAfterMs: 500,
        },
      ],
    })
  })
})
