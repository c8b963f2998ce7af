import { describe, expect, it } from 'vitest'
import { startAdmin } from '../admin-kit.suite.ts'
import type { LookedCounter } from './counters.ts'
import { admitting } from './operations.ts'

const ASKED = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] }
const FULL: LookedCounter = {
  ...{ descriptor: 0, ruleId: 'user', ruleName: 'user', described: '20 per 1m', isUnlimited: false, isShadow: false },
  ...{
    switchedTo: undefined,
    source: { kind: 'rule' as const, id: undefined },
    key: 'k',
    limit: 20,
    used: 20,
    remaining: 0,
  },
  ...{ resetAfterMs: 60_000, retryAfterMs: 42_000, isImpossible: false },
}

describe('what would admit a request', () => {
  it.each<[what: string, counter: LookedCounter, words: RegExp]>([
    ['a wait', FULL, /^Wait 42 s, raise the limit above 20, grant extra budget, or reset the counter\.$/],
    ['a wait that is rounded up', { ...FULL, retryAfterMs: 15_086 }, /^Wait 15.1 s,/],
    ['a short wait as it is', { ...FULL, retryAfterMs: 240.2 }, /^Wait 241 ms,/],
    ['a long wait in minutes', { ...FULL, retryAfterMs: 3_000_001 }, /^Wait 50.1 min,/],
    ['a longer one in hours', { ...FULL, retryAfterMs: 67_699_000 }, /^Wait 18.9 h,/],
    [
      'no wait, where the limit is smaller than the cost',
      { ...FULL, limit: 0, isImpossible: true },
      /^Waiting does not/,
    ],
    ['a grant with something left', { ...FULL, grants: [{ id: 'g', remaining: 3 }] }, /grant g has 3 left\.$/],
    ['no grant that is used up', { ...FULL, grants: [{ id: 'g', remaining: 0 }] }, /^Wait 42 s/],
    ['a switch', { ...FULL, switchedTo: 'off' }, /the rule is switched off\.$/],
  ])('is %s', (_, counter, words) => {
    expect(admitting(counter)).toMatch(words)
  })

  it('is the end of a block, which goes before all rules', async () => {
    const { ask, counters } = await startAdmin()
    expect((await ask('POST', 'explain', { body: ASKED })).json).toMatchObject({ admitted: true, blocked: null })
    counters.block = { id: 'b-1', reason: 'abuse', status: 403, endsInMs: undefined }
    expect((await ask('POST', 'explain', { body: ASKED })).json).toMatchObject({
      admitted: false,
      blocked: { id: 'b-1', reason: 'abuse', status: 403, ends_in_ms: null, what_would_admit: 'Unblock b-1.' },
    })
    counters.block = { ...counters.block, endsInMs: 42_000 }
    const { json } = await ask('POST', 'explain', { body: ASKED })
    expect(json.blocked).toMatchObject({ what_would_admit: 'Unblock b-1, or wait 42 s.' })
    counters.block = { ...counters.block, id: 'suspended', endsInMs: undefined }
    const suspended = await ask('POST', 'explain', { body: ASKED })
    expect(suspended.json.blocked).toMatchObject({ what_would_admit: 'Make the customer active again.' })
  })
})

describe('what a node remembers of callers', () => {
  it('is asked for by customer or by key, not by both', async () => {
    const { ask } = await startAdmin()
    expect((await ask('GET', 'refusals?customer_id=acme', { as: 'viewer' })).json).toMatchObject({
      refusals: [{ customer_id: 'acme', api_key_id: null, rule: 'user', reason: 'over_limit', retry_after_ms: 42_000 }],
    })
    expect((await ask('GET', 'refusals?api_key_id=k1')).json).toMatchObject({ refusals: [{ api_key_id: 'k1' }] })
    expect((await ask('GET', 'refusals?customer_id=acme&api_key_id=k1')).status).toBe(400)
    expect((await ask('GET', 'refusals', { as: 'none' })).status).toBe(401)
  })

  it('of callers near a limit is narrowed by the window', async () => {
    const { ask } = await startAdmin()
    expect((await ask('GET', 'near-limits')).json).toMatchObject({ callers: [{ customer_id: 'acme', remaining: 1 }] })
    expect((await ask('GET', 'near-limits?min_window_ms=3600000')).json).toEqual({
      nodes: 1,
      nodes_left_out: 0,
      callers: [],
    })
  })
})
