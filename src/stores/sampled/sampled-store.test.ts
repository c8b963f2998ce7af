import { describe, expect, it } from 'vitest'
import { storedKey } from '../../core/keys.ts'
import { compileLimit } from '../../core/limit.ts'
import type { Charge } from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { Fleet, limitOf, sampled } from './fleet.suite.ts'

const LIMIT = limitOf()
const EXACT = compileLimit({ limit: 2, window: '1m' })
const exact = (options: Partial<Charge> = {}): Charge => ({
  key: 'x',
  limit: EXACT,
  cost: 1,
  enforce: true,
  ...options,
})

/** A fleet of one node, whose counter drops what it gets. */
function full(charge: Charge = sampled(LIMIT)) {
  const fleet = new Fleet(1)
  const { store } = fleet.nodes[0]
  while (fleet.isAdmitted(0, charge));
  return { fleet, store }
}

describe('a sampled rule', () => {
  it('is decided without a promise, and reported once in an interval', () => {
    const fleet = new Fleet(1)
    expect(fleet.isAdmitted(0, sampled(LIMIT))).toBe(true)
    expect(fleet.book.reports).toEqual([])
    fleet.run(1_000, [3_000], sampled(LIMIT))
    expect(fleet.book.reports.length).toBeGreaterThanOrEqual(9)
    expect(fleet.book.reports.length).toBeLessThanOrEqual(10)
    const offered = fleet.book.reports.reduce((all, { offeredPerMs }) => all + offeredPerMs, 0)
    expect((1_000 * offered) / fleet.book.reports.length).toBeGreaterThan(2_500)
  })

  it('stops reporting when it is not used, after it has said so', () => {
    const fleet = new Fleet(1)
    fleet.run(500, [3_000], sampled(LIMIT))
    fleet.pass(2_000)
    const { length } = fleet.book.reports
    expect(fleet.book.reports[length - 1]).toMatchObject({ offeredPerMs: 0, recent: 0 })
    fleet.pass(5_000)
    expect(fleet.book.reports).toHaveLength(length)
  })

  it('reports every second only what is less than a hundredth of the rate', () => {
    const fleet = new Fleet(1)
    for (let i = 0; i < 500; i++) {
      fleet.isAdmitted(0, sampled(LIMIT))
      fleet.pass(20)
    }
    expect(fleet.book.reports.length).toBeLessThanOrEqual(11)
    const rates = fleet.book.reports.slice(1).map(({ offeredPerMs }) => Math.round(1_000 * offeredPerMs))
    expect(rates.filter((rate) => rate < 45 || rate > 56)).toEqual([])
  })

  it('refuses with a time that differs from hit to hit, so that retries do not meet', () => {
    const { store } = full()
    const times = Array.from({ length: 50 }, () => {
      const [verdict] = store.decide([sampled(LIMIT)]) as readonly { retryAfterMs: number }[]
      return verdict.retryAfterMs
    })
    expect(Math.min(...times)).toBeGreaterThanOrEqual(100)
    expect(new Set(times).size).toBeGreaterThan(20)
  })

  it('admits one hit of a limit of 1, and no more in that window', () => {
    const fleet = new Fleet(1)
    const one = sampled(limitOf({ limit: 1, window: '10s' }))
    expect([fleet.isAdmitted(0, one), fleet.isAdmitted(0, one)]).toEqual([true, false])
    fleet.pass(9_000)
    expect(fleet.isAdmitted(0, one)).toBe(false)
  })

  it('admits nothing of a limit of 0, and no cost above the limit', () => {
    const { store } = new Fleet(1).nodes[0]
    const none = limitOf({ limit: 0 })
    expect(store.decide([sampled(none)])).toMatchObject([{ kind: 'impossible', maxCost: 0 }])
    expect(store.decide([sampled(none, 0)])).toMatchObject([{ kind: 'impossible' }])
    expect(store.decide([sampled(LIMIT, 10_001)])).toMatchObject([{ kind: 'impossible', maxCost: 10_000 }])
    expect(store.decide([sampled(LIMIT, 10_000)])).toMatchObject([{ kind: 'allowed' }])
  })

  it('lets a bucket have its burst', () => {
    const fleet = new Fleet(1)
    const bucket = sampled(limitOf({ algorithm: 'token_bucket', burst: 3_000 }))
    let admitted = 0
    while (fleet.isAdmitted(0, bucket)) admitted++
    expect(admitted).toBe(3_000)
  })

  it('looks without counting, gives back, and charges late', () => {
    const fleet = new Fleet(1)
    const { store } = fleet.nodes[0]
    expect(store.decide([sampled(LIMIT, 0)])).toMatchObject([{ kind: 'allowed', remaining: 500 }])
    expect(store.decide([sampled(LIMIT, 200)])).toMatchObject([{ remaining: 300 }])
    expect(store.decide([sampled(LIMIT, -50)])).toMatchObject([{ kind: 'allowed', remaining: 350 }])
    expect(store.decide([{ ...sampled(LIMIT, 700), debit: true }])).toMatchObject([{ kind: 'allowed', dropped: 0 }])
    expect(store.decide([sampled(LIMIT, 0)])).toMatchObject([{ kind: 'refused' }])
  })

  it('follows a limit that is changed', () => {
    const fleet = new Fleet(2)
    fleet.run(1_000, [10_000, 10_000], sampled(LIMIT))
    const half = sampled(limitOf({ limit: 5_000 }))
    fleet.run(1_000, [10_000, 10_000], half)
    const admitted = fleet.run(2_000, [10_000, 10_000], half)
    expect(admitted[0] + admitted[1]).toBeLessThan(1.05 * 10_000)
    expect(admitted[0] + admitted[1]).toBeGreaterThan(0.95 * 10_000)
  })
})

describe('a request with several rules', () => {
  it('asks no other rule when the share drops it', async () => {
    const { store } = full()
    expect(await store.decide([exact(), sampled(LIMIT)])).toMatchObject([{ unasked: true }, { kind: 'refused' }])
    expect(await store.decide([exact({ cost: 0 })])).toMatchObject([{ remaining: 2 }])
  })

  it('charges the sampled rule nothing when another one refuses', async () => {
    const { store } = new Fleet(1).nodes[0]
    const both = [sampled(LIMIT), exact()]
    await store.decide(both)
    expect(await store.decide(both)).toMatchObject([{ remaining: 498 }, { remaining: 0 }])
    expect(await store.decide(both)).toMatchObject([{ kind: 'allowed', remaining: 498 }, { kind: 'refused' }])
  })

  it('takes back what passed where the store does not answer', async () => {
    const fleet = new Fleet(1)
    const { store } = fleet.nodes[0]
    fleet.parent.decide = () => {
      throw new StoreFault('timeout', 'parent', 'away')
    }
    await expect(store.decide([sampled(LIMIT, 100), exact()])).rejects.toThrow('away')
    expect(store.decide([sampled(LIMIT, 0)])).toMatchObject([{ remaining: 500 }])
  })

  it('is decided by the others when the sampled one is a shadow', async () => {
    const { store } = full()
    const shadow = { ...sampled(LIMIT), enforce: false }
    expect(await store.decide([shadow, exact()])).toMatchObject([
      { kind: 'refused' },
      { kind: 'allowed', remaining: 1 },
    ])
  })

  it('is admitted where one of several rules in quota mode has budget, and refused where none has', async () => {
    const { store } = full()
    const quotas = [{ ...sampled(LIMIT), quota: true }, exact({ quota: true })]
    expect((await store.decide(quotas)).map(({ allowed }) => allowed)).toEqual([false, true])
    expect((await store.decide(quotas)).map(({ allowed }) => allowed)).toEqual([false, true])
    expect((await store.decide(quotas)).map(({ allowed }) => allowed)).toEqual([false, false])
    const other = new Fleet(1).nodes[0].store
    await other.decide([exact({ cost: 2 })])
    expect((await other.decide(quotas)).map(({ allowed }) => allowed)).toEqual([true, false])
  })

  it('offers the rule what other rules admit: what they refuse does not count as demand', async () => {
    const fleet = new Fleet(1)
    const { store } = fleet.nodes[0]
    const never = exact({ limit: compileLimit({ limit: 0, window: '1m' }), key: 'never' })
    for (let i = 0; i < 300; i++) await store.decide([sampled(LIMIT), i % 3 === 0 ? exact({ cost: 0 }) : never])
    fleet.pass(100)
    const ageMs = 100
    expect(fleet.book.reports[0].offeredPerMs * ageMs).toBeGreaterThan(90)
    expect(fleet.book.reports[0].offeredPerMs * ageMs).toBeLessThan(220)
    expect(fleet.book.reports[0].admitted).toBe(100)
  })

  it('takes places of a concurrency limit only when the share lets it pass', async () => {
    const places = exact({ key: 'c', limit: compileLimit({ algorithm: 'concurrency', limit: 3 }) })
    const { store } = full()
    expect(await store.acquire([sampled(LIMIT), places])).toMatchObject({ permits: undefined })
    const other = new Fleet(1).nodes[0].store
    const { permits } = await other.acquire([sampled(LIMIT), places])
    expect(permits?.held).toHaveLength(1)
    await other.release(permits as NonNullable<typeof permits>)
    const alone = await other.acquire([sampled(LIMIT)])
    expect(alone).toMatchObject({ verdicts: [{ kind: 'allowed' }], permits: { held: [] } })
  })
})

describe('when no report is answered', () => {
  it('decides for a second, and then leaves it to the failure policy, for new callers as well', () => {
    const fleet = new Fleet(1)
    fleet.run(500, [3_000], sampled(LIMIT))
    fleet.book.isAway = true
    fleet.run(900, [3_000], sampled(LIMIT))
    fleet.pass(400)
    expect(() => fleet.isAdmitted(0, sampled(LIMIT))).toThrow(StoreFault)
    expect(() => fleet.isAdmitted(0, sampled(LIMIT, 1, 'new'))).toThrow('away')
    fleet.book.isAway = false
    fleet.pass(200)
    expect(fleet.isAdmitted(0, sampled(LIMIT))).toBe(true)
    expect(fleet.isAdmitted(0, sampled(LIMIT, 1, 'new'))).toBe(true)
    expect(fleet.nodes[0].store.stats.sampledFailures).toBeGreaterThan(5)
  })

  it('sends few reports, however many callers there are', () => {
    const fleet = new Fleet(1)
    for (let i = 0; i < 900; i++) fleet.isAdmitted(0, sampled(LIMIT, 1, `k${i}`))
    fleet.book.isAway = true
    fleet.pass(2_000)
    expect(fleet.book.reports.length).toBeLessThan(900 + 20 * 64)
  })
})

describe('a node', () => {
  it('forgets a counter that was reset, and all of a domain', () => {
    const domain = 'sluice:{0}:shop|'
    const key = `${domain}k`
    const { fleet } = full(sampled(LIMIT, 1, key))
    fleet.parent.notify({ kind: 'reset', key: storedKey(key, LIMIT) })
    expect(fleet.isAdmitted(0, sampled(LIMIT, 1, key))).toBe(true)
    while (fleet.isAdmitted(0, sampled(LIMIT, 1, key)));
    fleet.parent.notify({ kind: 'reset_domain', key: 'shop' })
    expect(fleet.isAdmitted(0, sampled(LIMIT, 1, key))).toBe(true)
  })

  it('keeps as many counters as it may, the busy ones', () => {
    const fleet = new Fleet(0)
    const store = fleet.add(100)
    const busy = sampled(LIMIT, 1, 'busy')
    while (fleet.isAdmitted(0, busy));
    for (let i = 0; i < 5_000; i++) {
      fleet.isAdmitted(0, sampled(LIMIT, 1, `k${i}`))
      if (i % 50 === 0) expect(fleet.isAdmitted(0, busy)).toBe(false)
    }
    expect(store.stats.sampledKeys).toBe(100)
  })

  it('makes a bounded number of reports at a time, and each counter gets its turn', () => {
    const fleet = new Fleet(0)
    fleet.add(10_000)
    for (let i = 0; i < 5_000; i++) fleet.isAdmitted(0, sampled(limitOf({ limit: 100 }), 1, `k${i}`))
    fleet.pass(100)
    const first = fleet.book.reports.length
    expect(first).toBeLessThanOrEqual(2_000)
    fleet.pass(300)
    expect(new Set(fleet.book.reports.map(({ key }) => key)).size).toBe(5_000)
  })
})
