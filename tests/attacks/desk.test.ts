import { describe, expect, it } from 'vitest'
import { ProcessDesk } from '../../server/src/app/desk/process-desk.ts'
import { observerOf } from '../../server/src/observe/door-observer.ts'
import { CALLER_ENTRIES } from '../../server/src/quotas/book/caller-entries.ts'
import { compileObjects } from '../../src/core/rules/compile.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import { openStore } from '../../src/stores/open/open-store.ts'

const RULES = compileObjects([
  { domain: 'api', descriptors: [{ key: 'user', rate_limit: { unit: 'day', requests_per_unit: 1 } }] },
])

/** scene is a process that decides, without anybody who is known. */
function scene() {
  const open = openStore({})
  const parts = { rules: () => RULES, quotas: undefined, entries: CALLER_ENTRIES, keys: open.keys, store: open.store }
  const desk = new ProcessDesk(parts)
  const limiter = new Limiter(() => RULES, open.store, { ...open.parts, observer: observerOf('http', desk.observers) })
  const hit = (value: string): unknown =>
    limiter.check({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value }] }] })
  return { desk, hit }
}

describe('what is remembered for people who look', () => {
  it('has room for a bounded number of callers, whatever strangers call themselves', () => {
    const { desk, hit } = scene()
    for (let i = 0; i < 5_000; i++) for (const _ of [1, 2]) hit(`stranger ${i}`)
    expect(desk.refusalsOf()).toHaveLength(1_000)
    expect(desk.nearLimits.list()).toHaveLength(1_000)
    expect(desk.refusalsOf()[0].key).toBe('user=stranger 4999')
  })

  it('holds no request of more than 4,096 characters', () => {
    const { desk, hit } = scene()
    for (let i = 0; i < 100; i++) for (const _ of [1, 2]) hit(`${i}${'x'.repeat(16_000)}`)
    expect([desk.refusalsOf().length, desk.nearLimits.list().length]).toEqual([0, 0])
  })

  it('keeps the refusals of others while one caller floods', () => {
    const { desk, hit } = scene()
    for (const _ of [1, 2]) hit('victim')
    for (let i = 0; i < 20_000; i++) hit('flood')
    expect(desk.refusalsOf().map(({ key }) => key)).toContain('user=victim')
  })

  it('has one row for a rule in a second, however many callers it has', () => {
    const { desk, hit } = scene()
    for (let i = 0; i < 1_000; i++) hit(`stranger ${i}`)
    const report = desk.live.take()
    expect(report).toMatchObject({ allowed: 1_000, rules: [{ domain: 'api', id: 'user', allowed: 1_000 }] })
    expect(desk.live.take()).toMatchObject({ allowed: 0, rules: [] })
  })
})
