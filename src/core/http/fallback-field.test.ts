import { parseList } from 'structured-headers'
import { expect, it } from 'vitest'
import { combine } from '../combine.ts'
import { allowed, refused, ruleNamed, verdictBy } from '../verdicts.suite.ts'
import { fallbackValue } from './fallback-field.ts'
import { FieldRenderer } from './field-renderer.ts'
import { rateLimitFields } from './fields.ts'

const by = (name: string, fallback?: 'open' | 'closed' | 'local') =>
  verdictBy(name, { ...(fallback === 'closed' ? refused(1_000) : allowed(7)), ...(fallback && { fallback }) })

it.each([
  [['local'], 'local'],
  [['open'], 'open'],
  [['closed'], 'closed'],
  [['local', undefined, 'open', 'local'], 'open, local'],
  [['local', 'open', 'closed'], 'closed, open, local'],
] as const)('%j is told as %s, each mode once, in one order', (modes, value) => {
  const verdicts = modes.map((mode, i) => by(`rule-${i}`, mode))
  expect(fallbackValue(verdicts)).toBe(value)
  expect(new Set(parseList(value).map(([token]) => String(token)))).toEqual(new Set(modes.filter(Boolean)))
})

it('is not there when the store decided, nor for shadow rules, which decide nothing', () => {
  expect(fallbackValue([])).toBeUndefined()
  expect(fallbackValue([by('a'), by('b')])).toBeUndefined()
  const shadow = { ...by('a', 'local'), rule: { ...ruleNamed('a'), shadow: true } }
  expect(fallbackValue([shadow, by('b')])).toBeUndefined()
})

it('is a field of answers to programs that ask for decisions, and not of answers to strangers, unless that is wanted', () => {
  const decision = combine([by('a', 'local')])
  const named = (renderer: FieldRenderer): string[] => {
    const { names, length } = renderer.render(decision, 0)
    return names.slice(0, length)
  }
  expect(rateLimitFields(decision, 0)).toContainEqual(['Sluice-Fallback', 'local'])
  expect(rateLimitFields(decision, 0, Math.random)).toContainEqual(['Sluice-Fallback', 'local'])
  expect(named(new FieldRenderer())).not.toContain('Sluice-Fallback')
  expect(named(new FieldRenderer({ fallback: true, standard: false, legacy: false }))).toEqual(['Sluice-Fallback'])
  expect(rateLimitFields(combine([by('a')]), 0).map(([name]) => name)).not.toContain('Sluice-Fallback')
})
