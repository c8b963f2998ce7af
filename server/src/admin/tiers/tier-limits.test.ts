import { RulesError } from 'sluice/internal/core/rules/problems'
import { describe, expect, it } from 'vitest'
import { tierLimits } from './tier-limits.ts'

function refusals(limits: unknown): readonly string[] {
  try {
    tierLimits('shop', 'gold', limits)
    return []
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    return error.errors.map(({ code, where }) => `${code} ${where}`)
  }
}

describe('the limits of a tier', () => {
  const value = { rate_limit: { name: 'calls', unit: 'day', requests_per_unit: 5 } }

  it('are the same as a value and as a text', () => {
    const text = '# by contract\nrate_limit:\n  name: calls\n  unit: day\n  requests_per_unit: 5\n'
    expect(tierLimits('shop', 'gold', text)).toEqual(value)
    expect(tierLimits('shop', 'gold', JSON.stringify(value, null, 2))).toEqual(value)
    expect(tierLimits('shop', 'gold', value)).toBe(value)
  })

  it('are refused at the lines of the text', () => {
    expect(refusals('rate_limit:\n  unit: fortnight\n  requests_per_unit: many')).toEqual([
      'RULE_INVALID tier gold:2:9',
      'RULE_INVALID tier gold:3:22',
    ])
    expect(refusals('rate_limit: {')[0]).toMatch(/^RULE_SYNTAX tier gold:1:/)
  })

  it.each(['', '---\ndomain: other', '"', "'\n", '? ', 'a: &a [*a]'])('are not %j', (text) => {
    expect(refusals(text)).not.toEqual([])
  })

  it('have names with any characters', () => {
    const text = 'rate_limit: { unit: day, requests_per_unit: 5 }'
    expect(tierLimits('a: "b"\n#', 'x: "y"', text)).toEqual({ rate_limit: { unit: 'day', requests_per_unit: 5 } })
  })
})
