import { describe, expect, it } from 'vitest'
import { startAdmin } from '../admin-kit.suite.ts'

const RULES = `domain: shop
descriptors:
  - key: user # each of them
    rate_limit: { unit: minute, requests_per_unit: 100 }
`
const SAYS = { requests: '100', unit: 'minute', window: null, burst: null, shadow: false }

describe('a draft of a limit', () => {
  it('says what the text has, and where', async () => {
    const { ask } = await startAdmin()
    const { status, json } = await ask('POST', 'rules/draft', { body: { text: RULES, domain: 'shop', id: 'user' } })
    expect(status).toBe(200)
    expect(json).toMatchObject({ line: 4, says: SAYS, is_unlimited: false, has_shadow: true, text: RULES })
  })

  it('is the text with other figures, and puts nothing in force', async () => {
    const { ask } = await startAdmin()
    const change = { ...SAYS, requests: '250' }
    const { json } = await ask('POST', 'rules/draft', { body: { text: RULES, domain: 'shop', id: 'user', change } })
    expect(json).toMatchObject({ text: RULES.replace('100', '250') })
    expect((await ask('GET', 'rules/active')).status).toBe(404)
  })

  it.each([
    ['a rule that is not there', { text: RULES, domain: 'shop', id: 'ip' }],
    ['another domain', { text: RULES, domain: 'other', id: 'user' }],
    ['a text that is no YAML', { text: '{', domain: 'shop', id: 'user' }],
    ['a text whose aliases would fill the memory', { text: bomb(), domain: 'shop', id: 'user' }],
  ])('of %s is refused', async (_, body) => {
    const { ask } = await startAdmin()
    expect((await ask('POST', 'rules/draft', { body })).status).toBe(404)
  })

  it('is for roles that may put rules', async () => {
    const { ask } = await startAdmin()
    const body = { text: RULES, domain: 'shop', id: 'user' }
    expect((await ask('POST', 'rules/draft', { body, as: 'operator' })).status).toBe(403)
  })
})

/** bomb is a text in which each level names the one before ten times. */
function bomb(): string {
  const levels = Array.from({ length: 20 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i}, `.repeat(10)}]`)
  return `l0: &l0 [x]\n${levels.join('\n')}\ndomain: shop\ndescriptors: *l20\n`
}
