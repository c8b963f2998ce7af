import { describe, expect, it } from 'vitest'
import type { RuleInForce } from '../api/operations.ts'
import { inForceText, isUnused, lowered, lowersText, plainText } from './in-force-words.ts'

const limit = { requests_per_unit: 1_200, unit: 'minute', window_ms: 60_000, burst: null }
const rule = (name: string, effect: RuleInForce['effect'] = 'raised'): RuleInForce => ({
  ...{ domain: 'shop', rule: name, rule_name: name, before: null, after: limit, effect },
})
const answer = (rules: readonly RuleInForce[], warnings: readonly string[] = [], total = rules.length) => ({
  ...{ id: 'x', in_force_on: rules, in_force_on_total: total, warnings },
})

describe('a limit is described', () => {
  it.each([
    [null, 'no limit'],
    [limit, '1,200 per minute'],
    [{ ...limit, unit: null, window_ms: 90_000 }, '1,200 in 1.5 min'],
    [{ ...limit, unit: null, window_ms: null }, '1,200 at the same time'],
    [{ ...limit, burst: 50 }, '1,200 per minute, burst 50'],
  ])('%j as %s', (of, text) => {
    expect(plainText(of)).toBe(text)
  })
})

describe('after a change', () => {
  it.each<[claim: string, answer: unknown, said: string, isLost: boolean]>([
    ['one rule is named', answer([rule('a')]), 'In force on shop/a.', false],
    ['its id follows', answer([{ ...rule('a'), rule: 'id' }]), 'In force on shop/a (id).', false],
    ['a rule with two limits once', answer([rule('a'), rule('a', 'lowered')]), 'In force on shop/a.', false],
    [
      'the first of many',
      answer([rule('a'), rule('b'), rule('c')], [], 120),
      'In force on shop/a, shop/b and 118 more.',
      false,
    ],
    ['a warning follows', answer([rule('a')], ['Off.']), 'In force on shop/a. Off.', false],
    ['no rule is said', answer([], ['No rule uses it.']), 'No rule uses it.', true],
    ['nothing about limits is nothing', answer([]), '', false],
    ['a change of other things says nothing', { id: 'x' }, '', false],
    ['nor one without an answer', undefined, '', false],
  ])('%s', (_, of, said, isLost) => {
    expect([inForceText(of), isUnused(of)]).toEqual([said, isLost])
  })

  it('a raise that lowers one limit, or several, says how many', () => {
    expect(lowersText(1)).toMatch(/^This raise lowers a limit: it would admit fewer/)
    expect(lowersText(1_200)).toMatch(/^This raise lowers 1,200 limits: they would admit fewer/)
  })

  it('rules whose limit is lowered are found', () => {
    expect(lowered([rule('a'), rule('b', 'lowered'), rule('c', 'replaced')]).map((each) => each.rule_name)).toEqual([
      'b',
    ])
  })
})
