import { describe, expect, it } from 'vitest'
import { fittingActivity, readActivity } from '../../server/src/admin/activity/fleet-activity.ts'
import { MAX_ANSWER } from '../../server/src/admin/fleet/fleet-questions.ts'
import { listOf } from '../../server/src/admin/fleet/read-values.ts'
import { ProcessView } from '../../server/src/admin/process/process-view.ts'
import { readRefusal } from '../../server/src/admin/refusals/read-callers.ts'
import { fitting } from '../../server/src/admin/refusals/recent-callers.ts'
import { observerOf } from '../../server/src/observe/door-observer.ts'
import { RecentActivity } from '../../server/src/observe/live/rule-activity.ts'
import { CALLER_ENTRIES } from '../../server/src/quotas/book/caller-entries.ts'
import { compileObjects } from '../../src/core/rules/compile.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import { openStore } from '../../src/stores/open/open-store.ts'

const RULES = compileObjects([
  { domain: 'api', descriptors: [{ key: 'user', rate_limit: { unit: 'day', requests_per_unit: 1 } }] },
])

const ONE = { allowed: 1, refused: 0, shadowRefused: 0 }
const GOOD_REFUSAL = {
  ...{ atMs: 1, customerId: undefined, keyId: undefined, domain: 'api', rule: 'user', key: 'user=a' },
  ...{ reason: 'over_limit', detail: undefined, retryAfterMs: 5 },
}

/** A process that decides, without anybody who is known. */
function scene() {
  const open = openStore({})
  const parts = { rules: () => RULES, quotas: undefined, entries: CALLER_ENTRIES, keys: open.keys, store: open.store }
  const view = new ProcessView(parts)
  const limiter = new Limiter(() => RULES, open.store, { ...open.parts, observer: observerOf('http', view.observers) })
  const hit = (value: string): unknown =>
    limiter.check({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value }] }] })
  return { view, hit }
}

describe('what is remembered for people who look', () => {
  it('has room for a bounded number of callers, whatever strangers call themselves', () => {
    const { view, hit } = scene()
    for (let i = 0; i < 5_000; i++) for (const _ of [1, 2]) hit(`stranger ${i}`)
    expect(view.refusalsOf()).toHaveLength(1_000)
    expect(view.nearLimits.list()).toHaveLength(1_000)
    expect(view.refusalsOf()[0].key).toBe('user=stranger 4999')
  })

  it('holds no request of more than 4,096 characters', () => {
    const { view, hit } = scene()
    for (let i = 0; i < 100; i++) for (const _ of [1, 2]) hit(`${i}${'x'.repeat(16_000)}`)
    expect([view.refusalsOf().length, view.nearLimits.list().length]).toEqual([0, 0])
  })

  it('keeps the refusals of others while one caller floods', () => {
    const { view, hit } = scene()
    for (const _ of [1, 2]) hit('victim')
    for (let i = 0; i < 20_000; i++) hit('flood')
    expect(view.refusalsOf().map(({ key }) => key)).toContain('user=victim')
  })

  it('has one row for a rule in a second, however many callers it has', () => {
    const { view, hit } = scene()
    for (let i = 0; i < 1_000; i++) hit(`stranger ${i}`)
    const report = view.live.take()
    expect(report).toMatchObject({ allowed: 1_000, rules: [{ domain: 'api', id: 'user', allowed: 1_000 }] })
    expect(view.live.take()).toMatchObject({ allowed: 0, rules: [] })
  })

  it('looks for the owners of a bounded number of keys, whatever is asked for', async () => {
    const { view } = scene()
    const asked = Array.from({ length: 100_000 }, (_, i) => `~${i.toString(16).padStart(16, '0')}`)
    expect(await view.owners(asked)).toEqual({})
  })

  it('sends other nodes no more than a bounded number of characters, however long ids and keys are', () => {
    const id = 'x'.repeat(4_096)
    const activity = new RecentActivity()
    for (let i = 0; i < 5_000; i++) activity.add({ domain: 'd', id: `${i}${id}`, ...ONE }, 0)
    const told = fittingActivity(activity.report(0))
    expect(JSON.stringify(told).length).toBeLessThanOrEqual(MAX_ANSWER)
    expect(told.rules.length + told.left).toBe(5_000)
    const refusals = Array.from({ length: 1_000 }, (_, i) => ({ key: `${i}${id}` }))
    expect(JSON.stringify(fitting(refusals)).length).toBeLessThanOrEqual(MAX_ANSWER)
  })

  it.each<[claim: string, answer: unknown]>([
    ['a text', 'refusals'],
    ['what is no list', { 0: GOOD_REFUSAL }],
    ['too many', new Array(5_001).fill(GOOD_REFUSAL)],
    ['a time that no calendar has', [{ ...GOOD_REFUSAL, atMs: 1e300 }]],
    ['a key that is no text', [{ ...GOOD_REFUSAL, key: { toString: 'x' } }]],
    ['a key of a megabyte', [{ ...GOOD_REFUSAL, key: 'x'.repeat(1_048_576) }]],
    ['nothing in a list', [null]],
  ])('believes no other node that sends %s', (_, answer) => {
    expect(listOf(readRefusal)([GOOD_REFUSAL])).toEqual([GOOD_REFUSAL])
    expect(listOf(readRefusal)(answer)).toBeUndefined()
  })

  it('takes of another node only what is known of refusals', () => {
    expect(listOf(readRefusal)([{ ...GOOD_REFUSAL, node: 'me', counter: 'secret' }])).toEqual([GOOD_REFUSAL])
    expect(readActivity({ rules: [['d', 'id', [1, 2, 3], [1, 2, -3]]], left: 0 })).toBeUndefined()
    expect(readActivity({ rules: [['d', 'id', [1, 2, 3], [1, 2, 3]]], left: 0 })?.rules).toHaveLength(1)
  })
})
