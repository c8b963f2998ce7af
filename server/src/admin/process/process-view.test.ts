import { storedKey } from 'sluice/internal/core/keys'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import { Limiter } from 'sluice/internal/engine/limiter'
import { openStore } from 'sluice/internal/stores/open/open-store'
import { describe, expect, it } from 'vitest'
import { observerOf } from '../../observe/door-observer.ts'
import { CALLER_ENTRIES } from '../../quotas/book/caller-entries.ts'
import type { Records } from '../../quotas/book/records.suite.ts'
import { ask, block, bookOf, customer, key, ofCustomer } from '../../quotas/book/records.suite.ts'
import { ProcessView } from './process-view.ts'

const limit = (requests_per_unit: number) => ({ unit: 'day', requests_per_unit, algorithm: 'fixed_window' as const })
const RULES = compileObjects([
  {
    domain: 'api',
    tiers: { pro: { rate_limit: limit(100) } },
    descriptors: [
      { key: 'api_key', tiered: true, rate_limit: limit(2), descriptors: [{ key: 'path', rate_limit: limit(1) }] },
      { key: 'user', rate_limit: limit(10) },
    ],
  },
])
const ACME: Records = { customers: [customer('acme')], api_keys: [key('k1', 'acme')] }

/** scene is a process that decides. */
function scene(records: Records) {
  const { book } = bookOf(records)
  const open = openStore({})
  const view = new ProcessView({
    rules: () => RULES,
    quotas: () => book,
    entries: CALLER_ENTRIES,
    keys: open.keys,
    store: open.store,
  })
  const observer = observerOf('http', view.observers)
  const limiter = new Limiter(() => RULES, open.store, { ...open.parts, quotas: () => book, observer })
  const hits = async (text: string, count = 1): Promise<string> => {
    let said = ''
    for (let i = 0; i < count; i++) said += (await limiter.check(ask(text))).allowed ? '+' : '-'
    return said
  }
  return { view, hits, keys: open.keys }
}

describe('what a process remembers', () => {
  it('is whom it refused, by which rule and why, without the key', async () => {
    const { view, hits } = scene(ACME)
    await hits('api_key=k1-secret', 4)
    await hits('user=bob', 11)
    const [refusal, ...others] = view.refusalsOf(['customer acme'])
    expect(others).toEqual([])
    expect(refusal).toMatchObject({
      customerId: 'acme',
      keyId: 'k1',
      domain: 'api',
      rule: 'api_key',
      reason: 'over_limit',
    })
    expect(JSON.stringify({ ...refusal, counter: undefined })).not.toContain('k1-secret')
    expect(view.refusalsOf().map(({ key: shown }) => shown)).toEqual(['user=bob', refusal.key])
    expect(view.refusalsOf(['key k1'])).toHaveLength(1)
    expect(view.refusalsOf(['customer other'])).toEqual([])
  })

  it('is also whom a block refused, and why', async () => {
    const { view, hits } = scene({ ...ACME, blocks: [block('b-1', ofCustomer('acme'), { reason: 'abuse' })] })
    await hits('api_key=k1-secret')
    expect(view.refusalsOf(['customer acme'])).toMatchObject([
      { rule: 'blocked', reason: 'blocked', detail: 'abuse', key: expect.stringMatching(/^api_key=~[0-9a-f]{16}$/) },
    ])
  })

  it('is who has used 80 % of a limit', async () => {
    const { view, hits } = scene(ACME)
    await hits('user=bob', 7)
    expect(view.nearLimits.list()).toEqual([])
    await hits('user=bob', 2)
    await hits('api_key=k1-secret', 2)
    expect(view.nearLimits.list().map((each) => [each.customerId, each.rule, each.remaining, each.limit])).toEqual([
      ['acme', 'api_key', 0, 2],
      [undefined, 'user', 1, 10],
    ])
  })

  it('is bounded, however many callers there are and however long their names', async () => {
    const { view, hits } = scene({})
    for (let i = 0; i < 1_200; i++) await hits(`api_key=stranger-${i}`, 3)
    expect([view.refusalsOf().length, view.nearLimits.list().length]).toEqual([1_000, 1_000])
    await hits(`user=${'x'.repeat(5_000)}`, 11)
    expect(view.refusalsOf()[0].key).toContain('api_key=')
  })

  it('is remembered once a second of one counter: a flood pushes no one out', async () => {
    const { view, hits } = scene({})
    await hits('user=bob', 11)
    await hits('api_key=flood', 2_000)
    expect(view.refusalsOf().map(({ rule }) => rule)).toContain('user')
  })
})

describe('a reset that another node was asked for', () => {
  it('forgets what this process alone can name: keys that it saw, and values that no rule names', async () => {
    const { view, hits } = scene(ACME)
    expect([await hits('api_key=k1-secret', 3), await hits('api_key=k1-secret path=/a', 2)]).toEqual(['++-', '+-'])
    await view.forget('customer acme')
    expect([await hits('api_key=k1-secret', 3), await hits('api_key=k1-secret path=/a', 2)]).toEqual(['++-', '+-'])
  })

  it('forgets who was near a limit of that caller and of a counter, and no one else', async () => {
    const { view, hits, keys } = scene({ ...ACME, customers: [customer('acme'), customer('other')] })
    const near = () => view.nearLimits.list().map(({ rule, key: shown }) => (rule === 'user' ? shown : rule))
    const useAll = async () => {
      await hits('user=bob', 10)
      await hits('user=eve', 10)
      await hits('api_key=k1-secret', 2)
      expect(near().toSorted()).toEqual(['api_key', 'user=bob', 'user=eve'])
    }
    await useAll()
    await view.forget('customer other')
    expect(near()).toHaveLength(3)
    await view.forget('key k1')
    expect(near().toSorted()).toEqual(['user=bob', 'user=eve'])
    await hits('api_key=k1-secret', 2)
    await view.forget('customer acme')
    expect(near().toSorted()).toEqual(['user=bob', 'user=eve'])
    const rule = RULES.domains.get('api')?.root.branches.get('user')?.any?.rules[0] as Rule
    const bob = storedKey(keys.encode('api', rule, [{ key: 'user', value: 'bob' }]), rule.limit)
    view.noticed({ kind: 'reset', key: bob })
    expect(near()).toEqual(['user=eve'])
    view.noticed({ kind: 'clear', key: bob.replace('bob', 'eve') })
    expect(near()).toEqual(['user=eve'])
  })

  it.each(['', 'customer', 'nonsense acme', 'key unknown'])('%j does nothing', async (caller) => {
    const { view, hits } = scene(ACME)
    await hits('api_key=k1-secret', 2)
    await view.forget(caller)
    expect(await hits('api_key=k1-secret')).toBe('-')
  })
})

describe('the usage that the owner of a key sees', () => {
  it('is what was used, and is not counted', async () => {
    const { view, hits } = scene(ACME)
    await hits('api_key=k1-secret')
    await view.usageOf('k1-secret')
    expect(await view.usageOf('k1-secret')).toMatchObject([{ descriptor: 'default', used: 1, remaining: 1, limit: 2 }])
  })

  it('is nothing for a key that no one has', async () => {
    const { view } = scene(ACME)
    expect(await view.usageOf('stranger')).toBeUndefined()
  })
})
