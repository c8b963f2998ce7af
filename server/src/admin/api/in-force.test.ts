import { describe, expect, it } from 'vitest'
import { type AdminKit, startAdmin } from '../admin-kit.suite.ts'
import type { LimitEffect, RuleInForce } from './change.ts'

const per = (requestsPerUnit: number, unit: string) => ({
  ...{ requestsPerUnit, unit, windowMs: 60_000, burst: undefined },
})

/** rule is one that the override of a change is in force on. */
const rule = (domain: string, effect: LimitEffect, before = 600): Omit<RuleInForce, 'overrideId'> => ({
  ...{ domain, ruleId: 'api_key', ruleName: 'calls', before: per(before, 'minute'), after: per(700, 'hour'), effect },
})

type Rules = readonly Omit<RuleInForce, 'overrideId'>[]

async function start(rules: Rules, warnings: readonly string[] = []): Promise<AdminKit> {
  const kit = await startAdmin()
  await kit.ask('POST', 'customers', { body: { id: 'acme' } })
  kit.inForce.of = (changes) => {
    const override = changes.findLast((each) => each.kind === 'record' && each.table === 'overrides')
    const overrideId = override?.kind === 'record' ? override.id : undefined
    return { rules: rules.map((each) => ({ ...each, overrideId })), warnings }
  }
  return kit
}

const PATH = 'customers/acme/overrides'
const BODY = { requests_per_unit: 700, unit: 'hour' }
const ONE = [rule('shop', 'raised')]
const SAME = [rule('shop', 'raised'), rule('llm', 'raised')]
const MIXED = [rule('shop', 'raised', 500), rule('llm', 'lowered')]
const LOWERED = [rule('shop', 'lowered'), rule('llm', 'lowered')]

describe('an override for several rules', () => {
  it.each<[claim: string, rules: Rules, more: object, code: string | undefined]>([
    ['of one rule needs no scope', ONE, {}, undefined],
    ['two limits of one rule are one rule', [...ONE, rule('shop', 'raised', 5)], {}, undefined],
    ['of two is refused', SAME, {}, 'OVERRIDE_SCOPE_NEEDED'],
    ['unless it says all', SAME, { all: true }, undefined],
    ['or names a domain', SAME, { domain: 'shop' }, undefined],
    ['and a false all says nothing', SAME, { all: false }, 'OVERRIDE_SCOPE_NEEDED'],
    ['one that lowers and raises is refused, scope or not', MIXED, { all: true }, 'OVERRIDE_LOWERS'],
    ['one that lowers and raises is refused, scope or not', MIXED, { domain: 'shop' }, 'OVERRIDE_LOWERS'],
    ['unless that is allowed', MIXED, { all: true, allow_lower: true }, undefined],
    ['what is allowed to lower still names what it is for', MIXED, { allow_lower: true }, 'OVERRIDE_SCOPE_NEEDED'],
    ['one that only lowers is meant so', LOWERED, { all: true }, undefined],
    ['unless it is a raise', LOWERED, { all: true, intent: 'raise' }, 'OVERRIDE_LOWERS'],
    ['a raise that raises is one', SAME, { all: true, intent: 'raise' }, undefined],
  ])('%s', async (_, rules, more, code) => {
    const { ask, quotas } = await start(rules)
    const body = { ...BODY, ...more }
    const dry = await ask('POST', `${PATH}?dry_run=true`, { body })
    const made = await ask('POST', PATH, { body })
    expect([dry.status, dry.json.code]).toEqual(code === undefined ? [200, undefined] : [409, code])
    expect([made.status, made.json.code]).toEqual(code === undefined ? [201, undefined] : [409, code])
    expect((await quotas.list('overrides', { limit: 9 })).items).toHaveLength(code === undefined ? 1 : 0)
    for (const name of ['all', 'intent', 'allow_lower']) expect(made.json).not.toHaveProperty(name)
  })

  it('names the rules that it is for, and the ones that it would lower, up to ten', async () => {
    const { ask } = await start(MIXED)
    const needed = await ask('POST', PATH, { body: BODY })
    expect(needed.json.detail).toContain(
      'it is for 2 rules: shop/api_key (500 per minute → 700 per hour), llm/api_key (600 per minute → 700 per hour). ',
    )
    expect(needed.json.detail).toContain('"domain" and "rule", or send "all": true')
    const lowers = await ask('POST', PATH, { body: { ...BODY, all: true } })
    expect(lowers.json.detail).toContain('it lowers llm/api_key (600 per minute → 700 per hour). ')
    const many = await start(Array.from({ length: 12 }, (_, i) => rule(`d${i}`, 'raised')))
    expect((await many.ask('POST', PATH, { body: BODY })).json.detail).toMatch(/d9\/api_key [^,]*, and 2 more\./)
  })

  it('may be put again as it is, for longer, and not with other numbers', async () => {
    const { ask } = await start(SAME)
    const { json } = await ask('POST', PATH, { body: { ...BODY, all: true } })
    const put = async (more: object) =>
      (await ask('PUT', `${PATH}/${json.id}`, { body: { ...BODY, ...more }, headers: { 'if-match': '*' } })).status
    expect(await put({ expires_at: '2099-01-01T00:00:00Z' })).toBe(200)
    expect(await put({ requests_per_unit: 701 })).toBe(409)
    expect(await put({ requests_per_unit: 701, domain: 'shop' })).toBe(200)
    expect(await put({ requests_per_unit: 701 })).toBe(409)
  })

  it('is not all that a raise of an API key may lower: so may another tier', async () => {
    const { ask, inForce } = await start([])
    inForce.of = () => ({ rules: LOWERED.map((each) => ({ ...each, overrideId: undefined })), warnings: [] })
    const put = async (more: object) =>
      (await ask('PUT', 'quotas/abc123', { body: { tier: 'free', ...more } })).json.code
    expect(await put({ intent: 'raise' })).toBe('OVERRIDE_LOWERS')
    expect(await put({ intent: 'raise', allow_lower: true })).toBeUndefined()
    expect(await put({})).toBeUndefined()
  })

  it('of an API key says the same', async () => {
    const { ask } = await start(MIXED)
    const put = async (override: object, more: object = {}) =>
      (await ask('PUT', 'quotas/abc123', { body: { overrides: [{ ...BODY, ...override }], ...more } })).json.code
    expect(await put({})).toBe('OVERRIDE_SCOPE_NEEDED')
    expect(await put({}, { all: true })).toBe('OVERRIDE_LOWERS')
    expect(await put({ domain: 'shop', rule: 'api_key' })).toBe('OVERRIDE_LOWERS')
    expect(await put({}, { all: true, allow_lower: true })).toBeUndefined()
  })
})

describe('a scope', () => {
  it('that does not exist is refused, and a rule without its domain', async () => {
    const { ask, problems } = await start(ONE)
    problems.ofScope = ({ domain }) => (domain === 'shpo' ? 'no rules define the domain "shpo"' : undefined)
    const wrong = await ask('POST', PATH, { body: { ...BODY, domain: 'shpo' } })
    expect([wrong.status, wrong.json.code]).toEqual([422, 'OVERRIDE_SCOPE_UNKNOWN'])
    expect(wrong.json.detail).toContain('no rules define the domain "shpo". ')
    const alone = await ask('POST', PATH, { body: { ...BODY, rule: 'api_key' } })
    expect([alone.status, alone.json.code]).toEqual([400, 'ADMIN_REQUEST_INVALID'])
  })

  it('is part of the answer, and of what is read', async () => {
    const { ask } = await start(ONE)
    const { json } = await ask('POST', PATH, { body: { ...BODY, domain: 'shop', rule: 'api_key' } })
    expect(json).toMatchObject({ domain: 'shop', rule: 'api_key' })
    expect((await ask('GET', `${PATH}/${json.id}`)).json).toMatchObject({ domain: 'shop', rule: 'api_key' })
  })
})

describe('where a change is in force', () => {
  it('is answered, previewed and audited, the lowered ones first', async () => {
    const { ask, audited } = await start(MIXED, ['A warning.'])
    const plain = (requests_per_unit: number, unit: string) => ({
      ...{ requests_per_unit, unit, window_ms: 60_000, burst: null },
    })
    const named = { rule: 'api_key', rule_name: 'calls' }
    const listed = [
      { domain: 'llm', ...named, before: plain(600, 'minute'), after: plain(700, 'hour'), effect: 'lowered' },
      { domain: 'shop', ...named, before: plain(500, 'minute'), after: plain(700, 'hour'), effect: 'raised' },
    ]
    const listing = { in_force_on: listed, in_force_on_total: 2, warnings: ['A warning.'] }
    const body = { ...BODY, all: true, allow_lower: true }
    expect((await ask('POST', `${PATH}?dry_run=true`, { body })).json).toMatchObject(listing)
    const made = await ask('POST', PATH, { body })
    expect(made.json).toMatchObject(listing)
    const rules = listed.toReversed()
    expect((await audited()).at(-1)?.after).toMatchObject({ id: made.json.id, inForceOn: { total: 2, rules } })
    const gone = await ask('DELETE', `${PATH}/${made.json.id}`, { headers: { 'if-match': '*' } })
    expect([gone.status, gone.json]).toEqual([200, listing])
  })

  it('is a list of at most 100, with how many there are', async () => {
    const { ask, audited } = await start(Array.from({ length: 120 }, (_, i) => rule(`d${i}`, 'raised')))
    const { json } = await ask('POST', PATH, { body: { ...BODY, all: true } })
    expect([json.in_force_on, json.in_force_on_total]).toEqual([expect.objectContaining({ length: 100 }), 120])
    expect((await audited()).at(-1)?.after).toMatchObject({
      id: json.id,
      inForceOn: { total: 120, rules: { length: 20 } },
    })
  })

  it.each<[method: string, path: string, body: object | undefined]>([
    ['POST', 'customers', { id: 'beta', tier: 'pro' }],
    ['PUT', 'customers/acme', { tier: 'pro' }],
    ['PATCH', 'customers/acme', { tier: 'pro' }],
    ['POST', 'customers/acme/keys', { tier: 'pro' }],
    ['POST', 'customers/acme/grants', { amount: 5 }],
    ['PUT', 'quotas/abc123', { tier: 'pro' }],
    ['DELETE', 'quotas/abc123', undefined],
    ['PUT', 'tiers/shop/pro', { limits: { rate_limit: { unit: 'minute', requests_per_unit: 5 } } }],
    ['DELETE', 'tiers/shop/pro', undefined],
  ])('is answered to %s %s', async (method, path, body) => {
    const { ask } = await start(ONE)
    if (method === 'DELETE') {
      const limits = { rate_limit: { unit: 'minute', requests_per_unit: 5 } }
      await ask('PUT', path, { body: path.startsWith('tiers') ? { limits } : { tier: 'pro' } })
    }
    const { json, status } = await ask(method, path, { body, headers: { 'if-match': '*' } })
    expect(status, JSON.stringify(json)).toBeLessThan(300)
    expect(json).toMatchObject({ in_force_on: [{ domain: 'shop', rule: 'api_key' }], in_force_on_total: 1 })
  })
})
