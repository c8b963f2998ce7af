import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileLimit, type Limit } from '../../src/core/limit.ts'
import type { Charge, HeldPermits, Notice } from '../../src/engine/ports.ts'
import type { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { COUNTERS, charge, inQuota, kinds, TEN } from '../../src/stores/suite/subject.suite.ts'
import type { ClusterView } from '../servers/cluster.mjs'
import { sharedCluster } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { connectStore, keyOf, partitionsOf, remaining, urlOf } from './partitions.suite.ts'

/** Long enough that nothing comes back by itself while a test runs. */
const DAILY: Readonly<Record<string, Limit>> = Object.fromEntries(
  Object.entries(TEN).map(([name, { algorithm, calendar, quantumMs }]) => [
    name,
    algorithm === 'concurrency'
      ? compileLimit({ algorithm, limit: 10, leaseTtl: '1h' })
      : compileLimit({
          algorithm,
          limit: 10,
          ...(calendar ? { calendar: { unit: 'year' as const } } : { window: '30d' }),
          ...(quantumMs > 1 && { subWindows: 6 }),
        }),
  ]),
)
const WINDOW_OPTIONS = { algorithm: 'fixed_window', window: '30d' } as const
const { fixed_window: WINDOW, concurrency: PLACES } = DAILY

let cluster: ClusterView
let store: RedisStore
/** One partition on each of the three masters. */
let here: number
let there: number
let elsewhere: number
beforeAll(async () => {
  cluster = await sharedCluster()
  ;({ store } = await connectStore(urlOf(cluster), 3))
  const shares = await Promise.all((await cluster.masters()).map((master) => partitionsOf(cluster, master)))
  ;[here, there, elsewhere] = shares.map(([partition]) => partition)
})
afterAll(() => store.close())

const fresh = (partition: number, limit: Limit, cost = 1): Charge => charge(keyOf(partition, randomUUID()), limit, cost)

/** Leaves a counter with so much. */
async function spend({ key, limit }: Charge, left: number): Promise<void> {
  await store.acquire([charge(key, limit, 10 - left)])
}

const comesBackTo = (each: Charge, budget: number) =>
  until(`the budget is ${budget} again`, async () => (await remaining(store, each)) === budget)

describe('a group over several partitions', () => {
  it.each(COUNTERS)('is given back what %s was charged when another part refuses', async (algorithm) => {
    const [charged, full] = [fresh(here, DAILY[algorithm], 3), fresh(there, WINDOW)]
    await spend(charged, 8)
    await spend(full, 0)
    const verdicts = await store.decide([charged, full])
    expect(verdicts.map(({ kind, remaining: left }) => [kind, left])).toEqual([
      ['allowed', 8],
      ['refused', 0],
    ])
    await comesBackTo(charged, 8)
    expect((await store.decide([{ ...charged, cost: 8 }]))[0].allowed).toBe(true)
  })

  it('is charged everywhere when every part fits', async () => {
    const charges = [fresh(here, WINDOW, 1), fresh(there, WINDOW, 2), fresh(elsewhere, WINDOW, 3)]
    expect((await store.decide(charges)).map(({ remaining: left }) => left)).toEqual([9, 8, 7])
    expect(await Promise.all(charges.map((each) => remaining(store, each)))).toEqual([9, 8, 7])
  })

  it('reports the budget as it was, also of rules next to the one that refuses', async () => {
    const [beside, full, apart] = [fresh(here, WINDOW), fresh(here, WINDOW), fresh(there, WINDOW)]
    await spend(beside, 5)
    await spend(full, 0)
    await spend(apart, 4)
    const verdicts = await store.decide([beside, full, apart])
    expect(verdicts.map(({ remaining: left }) => left)).toEqual([5, 0, 4])
    await comesBackTo(apart, 4)
    expect(await remaining(store, beside)).toBe(5)
  })

  it('reports the budget as it was of a counter that it names twice', async () => {
    const [twice, full] = [fresh(here, WINDOW, 3), fresh(there, WINDOW)]
    await spend(full, 0)
    const verdicts = await store.decide([twice, { ...twice, cost: 4 }, full])
    expect(verdicts.map(({ remaining: left }) => left)).toEqual([10, 10, 0])
    await comesBackTo(twice, 10)
  })

  it('asks no one to wait for a leaky bucket that was given back', async () => {
    const [leaky, full] = [fresh(here, DAILY.leaky_bucket, 3), fresh(there, WINDOW)]
    await spend(full, 0)
    expect((await store.decide([leaky]))[0]).toMatchObject({ allowed: true })
    expect((await store.decide([leaky, full]))[0]).toMatchObject({ allowed: true, delayMs: 0 })
    await comesBackTo(leaky, 7)
  })

  it('gives a shadow rule back what it was charged, and is not stopped by it', async () => {
    const [shadow, full, open] = [
      { ...fresh(here, WINDOW, 6), enforce: false },
      fresh(there, WINDOW),
      fresh(there, WINDOW),
    ]
    await spend(full, 0)
    expect(kinds({ verdicts: await store.decide([shadow, full]) })).toEqual(['allowed', 'refused'])
    await comesBackTo(shadow, 10)
    await store.decide([shadow, open])
    expect(kinds({ verdicts: await store.decide([shadow, open]) })).toEqual(['refused', 'allowed'])
    expect([await remaining(store, shadow), await remaining(store, open)]).toEqual([4, 8])
  })

  it('charges all parts or none, however many ask at the same time', async () => {
    const [plenty, scarce] = [fresh(here, compileLimit({ ...WINDOW_OPTIONS, limit: 100 })), fresh(there, WINDOW)]
    const groups = await Promise.all(Array.from({ length: 50 }, () => store.decide([plenty, scarce])))
    const admitted = groups.filter((verdicts) => verdicts.every(({ allowed }) => allowed)).length
    expect(admitted).toBe(10)
    await comesBackTo(plenty, 90)
    expect(await remaining(store, scarce)).toBe(0)
  })

  it('notifies callers that may have been refused meanwhile when a part is given back', async () => {
    const heard: Notice[] = []
    let isListening = false
    const stop = store.listen({
      noticed: (notice) => heard.push(notice),
      connected: (is) => {
        isListening ||= is
      },
    })
    await until('notices arrive', () => isListening)
    const [one, two, full] = [fresh(here, WINDOW, 3), fresh(here, WINDOW, 3), fresh(there, WINDOW)]
    await spend(full, 0)
    await store.decide([one, two, full])
    const keys = [one, two].map(({ key }) => key)
    await until('both are heard', () => keys.every((key) => heard.some((notice) => notice.key === key)))
    expect(heard.filter(({ key }) => keys.includes(key))).toEqual(keys.map((key) => ({ kind: 'clear', key })))
    expect([await remaining(store, one), await remaining(store, two)]).toEqual([10, 10])
    stop()
  })

  it('looks without a trace, and refunds in every part', async () => {
    const charges = [fresh(here, WINDOW, 4), fresh(there, WINDOW, 4)]
    await store.decide(charges)
    await store.decide(charges.map((each) => ({ ...each, cost: 0 })))
    const verdicts = await store.decide(charges.map((each) => ({ ...each, cost: -3 })))
    expect(verdicts.map(({ remaining: left }) => left)).toEqual([9, 9])
  })
})

describe('places over several partitions', () => {
  it('are taken together and released together', async () => {
    const charges = [fresh(here, PLACES, 2), fresh(there, PLACES, 3), fresh(elsewhere, WINDOW, 1)]
    const { permits: lease } = await store.acquire(charges)
    expect(await Promise.all(charges.map((each) => remaining(store, each)))).toEqual([8, 7, 9])
    await store.release(lease as HeldPermits)
    expect(await Promise.all(charges.map((each) => remaining(store, each)))).toEqual([10, 10, 9])
  })

  it('are given back, with everything else, when another part refuses', async () => {
    const charges = [fresh(here, PLACES, 2), fresh(there, PLACES, 1), fresh(elsewhere, WINDOW, 1)]
    await spend(charges[1], 0)
    const { verdicts, permits: lease } = await store.acquire(charges)
    expect(lease).toBeUndefined()
    expect(verdicts.map(({ kind, remaining: left }) => [kind, left])).toEqual([
      ['allowed', 10],
      ['refused', 0],
      ['allowed', 10],
    ])
    await comesBackTo(charges[0], 10)
    await comesBackTo(charges[2], 10)
    expect(await remaining(store, charges[1])).toBe(0)
  })

  it('are only looked at by a decision', async () => {
    const charges = [fresh(here, PLACES, 2), fresh(there, PLACES, 3)]
    expect((await store.decide(charges)).map(({ remaining: left }) => left)).toEqual([8, 7])
    expect(await Promise.all(charges.map((each) => remaining(store, each)))).toEqual([10, 10])
  })
})

describe('rules in quota mode over several partitions', () => {
  const quota = (partition: number): Charge => inQuota(keyOf(partition, randomUUID()), WINDOW)

  it('let a group pass when one fits, and charge what fits', async () => {
    const [spent, open, other] = [quota(here), quota(there), fresh(elsewhere, WINDOW)]
    await spend(spent, 0)
    expect(kinds({ verdicts: await store.decide([spent, open, other]) })).toEqual(['refused', 'allowed', 'allowed'])
    expect([await remaining(store, open), await remaining(store, other)]).toEqual([9, 9])
  })

  it('bind no rule that they share a partition with, when another partition lets the group pass', async () => {
    const [spent, beside, open] = [quota(here), fresh(here, WINDOW, 2), quota(there)]
    const place = fresh(here, PLACES)
    await spend(spent, 0)
    expect(kinds({ verdicts: await store.decide([spent, beside, open]) })).toEqual(['refused', 'allowed', 'allowed'])
    const { verdicts, permits: lease } = await store.acquire([beside, place, spent, open])
    expect(kinds({ verdicts })).toEqual(['allowed', 'allowed', 'refused', 'allowed'])
    expect(lease?.held).toHaveLength(1)
    expect(await Promise.all([beside, open, place].map((each) => remaining(store, each)))).toEqual([6, 8, 9])
  })

  it('refuse a group when none fits, and the others are given back', async () => {
    const [one, two, other] = [quota(here), quota(there), fresh(elsewhere, WINDOW)]
    await spend(one, 0)
    await spend(two, 0)
    const verdicts = await store.decide([one, two, other])
    expect(verdicts.map(({ kind, remaining: left }) => [kind, left])).toEqual([
      ['refused', 0],
      ['refused', 0],
      ['allowed', 10],
    ])
    await comesBackTo(other, 10)
  })

  it('are given back when a rule that is not in quota mode refuses', async () => {
    const [open, full] = [quota(here), fresh(there, WINDOW)]
    await spend(full, 0)
    expect(kinds({ verdicts: await store.decide([open, full]) })).toEqual(['allowed', 'refused'])
    await comesBackTo(open, 10)
  })
})
