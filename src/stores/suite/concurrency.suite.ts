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

  it('frees a permit when its lease is over, and not before', async () => {
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

  it('renews the lease of permits, and of no others', async () => {
    const [long, short] = [await s.take('renewed', limit, 3), await s.take('renewed', limit, 2)]
    s.at(START_MS + 40_000)
    expect(await s.store.renew([long])).toEqual(['held'])
    expect(await s.remaining('renewed', limit)).toBe(5)
    s.at(START_MS + MINUTE_MS)
    expect(await s.remaining('renewed', limit)).toBe(7)
    s.at(START_MS + 40_000 + MINUTE_MS - 1)
    expect(await s.remaining('renewed', limit)).toBe(7)
    s.at(START_MS + 40_000 + MINUTE_MS)
    expect(await s.remaining('renewed', limit)).toBe(10)
    await s.store.release(short)
    expect(await s.remaining('renewed', limit)).toBe(10)
  })

  it('gives back what was renewed, exactly once', async () => {
    const permits = await s.take('renewed', limit, 3)
    for (let i = 1; i <= 5; i++) {
      s.at(START_MS + i * 40_000)
      expect(await s.store.renew([permits])).toEqual(['held'])
    }
    expect(await s.remaining('renewed', limit)).toBe(7)
    await s.store.release(permits)
    await s.store.release(permits)
    expect(await s.remaining('renewed', limit)).toBe(10)
  })

  it('takes permits again whose time was over, as long as there is room', async () => {
    const permits = await s.take('late', limit, 6)
    s.at(START_MS + MINUTE_MS)
    await s.take('late', limit, 4)
    expect(await s.store.renew([permits])).toEqual(['retaken'])
    expect(await s.remaining('late', limit)).toBe(0)
    await s.store.release(permits)
    expect(await s.remaining('late', limit)).toBe(6)
  })

  it('takes them again without room as well: their holder is at work', async () => {
    const permits = await s.take('late', limit, 6)
    s.at(START_MS + MINUTE_MS)
    const [first, second] = [await s.take('late', limit, 3), await s.take('late', limit, 4)]
    expect(await s.store.renew([permits])).toEqual(['overrun'])
    await s.store.release(first)
    expect(await s.one('late', limit, 1)).toMatchObject({ kind: 'refused', remaining: 0 })
    await s.store.release(second)
    expect(await s.remaining('late', limit)).toBe(4)
    expect(await s.store.renew([permits])).toEqual(['held'])
    await s.store.release(permits)
    expect(await s.remaining('late', limit)).toBe(10)
  })

  it('takes nothing again for a holder that may be gone', async () => {
    const { id, held } = await s.take('away', limit, 6)
    const away = { id, held: held.map(({ key, limit: of }) => ({ key, limit: of })) }
    s.at(START_MS + MINUTE_MS - 1)
    expect(await s.store.renew([away])).toEqual(['held'])
    s.at(START_MS + 2 * MINUTE_MS - 1)
    expect(await s.store.renew([away])).toEqual(['lost'])
    expect(await s.remaining('away', limit)).toBe(10)
    await s.store.release(await s.take('away', limit, 1))
    await s.store.release(away)
    expect(await s.store.renew([away, away])).toEqual(['lost', 'lost'])
    expect(await s.remaining('away', limit)).toBe(10)
  })

  it('renews many in one call, of one key and of several, each separately', async () => {
    const other = withLimit(limit, 3)
    const both = (await s.use(charge('a', limit, 2), charge('b', other, 1))).permits as HeldPermits
    const late = await s.take('a', limit, 5)
    s.at(START_MS + 30_000)
    expect(await s.store.renew([both])).toEqual(['held'])
    s.at(START_MS + MINUTE_MS)
    const filled = await s.take('a', limit, 6)
    expect(await s.store.renew([late, both, filled, both])).toEqual(['overrun', 'held', 'held', 'held'])
    expect([await s.remaining('a', limit), await s.remaining('b', other)]).toEqual([0, 2])
    for (const permits of [late, both, filled]) await s.store.release(permits)
    expect([await s.remaining('a', limit), await s.remaining('b', other)]).toEqual([10, 3])
  })

  it('finds permits of several places however many others stand between them', async () => {
    for (const places of [2, 3]) {
      const key = `apart ${places}`
      const [first, between, last] = [
        await s.take(key, limit, places),
        await s.take(key, limit, 1),
        await s.take(key, limit, 2),
      ]
      expect(await s.store.renew([first, last])).toEqual(['held', 'held'])
      expect(await s.remaining(key, limit)).toBe(7 - places)
      for (const permits of [first, between, last]) await s.store.release(permits)
      expect(await s.remaining(key, limit)).toBe(10)
    }
  })

  it('renews all places of a counter that a group names twice', async () => {
    const { permits } = await s.use(charge('twice', limit, 2), charge('twice', limit, 3))
    s.at(START_MS + 30_000)
    expect(await s.store.renew([permits as HeldPermits])).toEqual(['held'])
    expect(await s.remaining('twice', limit)).toBe(5)
    s.at(START_MS + 30_000 + MINUTE_MS)
    expect(await s.store.renew([permits as HeldPermits])).toEqual(['retaken'])
    expect(await s.remaining('twice', limit)).toBe(5)
  })

  it('takes what a list names twice again once, also where it names a counter twice', async () => {
    const { permits } = await s.use(charge('twice', limit, 2), charge('twice', limit, 3))
    const [held, part] = [permits as HeldPermits, { ...(permits as HeldPermits), held: permits?.held.slice(1) ?? [] }]
    for (const [i, list] of [
      [held, held],
      [held, held, held],
      [part, held],
      [held, part],
    ].entries()) {
      s.at(START_MS + (i + 1) * MINUTE_MS)
      expect(await s.store.renew(list)).toEqual(list.map(() => 'retaken'))
      expect(await s.remaining('twice', limit)).toBe(5)
    }
    await s.store.release(held)
    expect(await s.remaining('twice', limit)).toBe(10)
  })

  it('holds the permits of a key that was reset again when they are renewed', async () => {
    const permits = await s.take('reset', limit, 4)
    await s.store.reset('reset', limit)
    expect(await s.remaining('reset', limit)).toBe(10)
    expect(await s.store.renew([permits])).toEqual(['retaken'])
    expect(await s.remaining('reset', limit)).toBe(6)
  })
}
