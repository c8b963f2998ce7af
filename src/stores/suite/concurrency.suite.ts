import { expect, it } from 'vitest'
import type { HeldPermits } from '../../engine/ports.ts'
import { charge, MINUTE_MS, START_MS, type Subject, TEN, withLimit } from './subject.suite.ts'

/** concurrencyClaims: acquire takes, decide looks, release gives back exactly once, and time gives back the rest. */
export function concurrencyClaims(s: Subject): void {
  const limit = TEN.concurrency

  it('takes places by acquire, and only looks by decide', async () => {
    expect(await s.one('held', limit, 4)).toMatchObject({ kind: 'allowed', remaining: 6 })
    expect(await s.remaining('held', limit)).toBe(10)
    expect((await s.use(charge('held', limit, 4))).verdicts[0]).toMatchObject({ kind: 'allowed', remaining: 6 })
    expect(await s.remaining('held', limit)).toBe(6)
  })

  it('gives back exactly what a permits took, exactly once', async () => {
    const [three, two] = [await s.take('held', limit, 3), await s.take('held', limit, 2)]
    await s.store.release(three)
    expect(await s.remaining('held', limit)).toBe(8)
    await s.store.release(three)
    expect(await s.remaining('held', limit)).toBe(8)
    await s.store.release(two)
    expect(await s.remaining('held', limit)).toBe(10)
  })

  it('releases the places of every rule of the group', async () => {
    const other = withLimit(limit, 3)
    const { permits } = await s.use(charge('a', limit, 1), charge('b', other, 2), charge('c', TEN.gcra, 1))
    expect([await s.remaining('a', limit), await s.remaining('b', other), await s.remaining('c', TEN.gcra)]).toEqual([
      9, 1, 9,
    ])
    await s.store.release(permits as HeldPermits)
    expect([await s.remaining('a', limit), await s.remaining('b', other), await s.remaining('c', TEN.gcra)]).toEqual([
      10, 3, 9,
    ])
  })

  it('takes nothing in any rule of a group that is refused', async () => {
    await s.take('full', limit, 10)
    const { verdicts, permits } = await s.use(charge('a', limit, 1), charge('full', limit, 1), charge('c', TEN.gcra, 1))
    expect(verdicts.map(({ kind }) => kind)).toEqual(['allowed', 'refused', 'allowed'])
    expect(permits).toBeUndefined()
    expect([await s.remaining('a', limit), await s.remaining('full', limit)]).toEqual([10, 0])
    expect(await s.remaining('c', TEN.gcra)).toBe(10)
  })

  it('lets a permits come back by itself when its time is over, and not before', async () => {
    await s.take('crashed', limit, 10)
    s.at(START_MS + MINUTE_MS - 1)
    expect((await s.use(charge('crashed', limit, 1))).permits).toBeUndefined()
    s.at(START_MS + MINUTE_MS)
    expect((await s.use(charge('crashed', limit, 10))).permits).toBeDefined()
  })

  it('does no harm by releasing a permits that has run out', async () => {
    const late = await s.take('late', limit, 10)
    s.at(START_MS + MINUTE_MS)
    await s.take('late', limit, 4)
    await s.store.release(late)
    expect(await s.remaining('late', limit)).toBe(6)
  })

  it('does no harm by releasing a permits of a key that was reset', async () => {
    const before = await s.take('reset', limit, 10)
    await s.store.reset('reset', limit)
    await s.take('reset', limit, 4)
    await s.store.release(before)
    expect(await s.remaining('reset', limit)).toBe(6)
  })
}
