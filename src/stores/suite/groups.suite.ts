import { expect, it } from 'vitest'
import { mulberry32 } from './run.suite.ts'
import { charge, inQuota, kinds, NAMES, type Subject, TEN } from './subject.suite.ts'

/** groupClaims: a group is charged whole or not at all; shadow rules stop nothing; rules in quota mode need one to fit. */
export function groupClaims(s: Subject): void {
  it('answers one verdict for each charge, in order', async () => {
    const charges = NAMES.map((algorithm, i) => charge(`key:${i}`, TEN[algorithm], i + 1))
    const verdicts = await s.decide(...charges)
    expect(verdicts.map(({ remaining }) => remaining)).toEqual(NAMES.map((_, i) => 9 - i))
    expect(await s.decide()).toEqual([])
  })

  it.each(NAMES)('charges all or none when %s refuses', async (refuser) => {
    const random = mulberry32(NAMES.indexOf(refuser))
    const charges = NAMES.map((algorithm) => charge('caller', TEN[algorithm], 2)).sort(() => random(3) - 1)
    expect((await s.use(...charges)).permits).toBeDefined()
    expect(await Promise.all(charges.map(({ limit }) => s.remaining('caller', limit)))).toEqual(charges.map(() => 8))
    await s.use(charge('caller', TEN[refuser], 8))

    const { verdicts, permits } = await s.use(...charges)
    expect(permits).toBeUndefined()
    expect(verdicts.map(({ allowed }) => allowed)).toEqual(charges.map(({ limit }) => limit !== TEN[refuser]))
    for (const { limit } of charges) expect(await s.remaining('caller', limit)).toBe(limit === TEN[refuser] ? 0 : 8)
  })

  it.each(NAMES)('reports what a shadow charge of %s finds, and lets it stop nothing', async (algorithm) => {
    const shadow = { ...charge('shadow', TEN[algorithm], 6), enforce: false }
    const enforced = charge('enforced', TEN.fixed_window, 1)
    expect(kinds(await s.use(shadow, enforced))).toEqual(['allowed', 'allowed'])
    expect(kinds(await s.use(shadow, enforced))).toEqual(['refused', 'allowed'])
    expect(await s.remaining('shadow', TEN[algorithm])).toBe(4)
    expect(await s.remaining('enforced', TEN.fixed_window)).toBe(8)
  })

  it.each(NAMES)('does not charge a shadow charge of %s when an enforcing one refuses', async (algorithm) => {
    const shadow = { ...charge('shadow', TEN[algorithm], 6), enforce: false }
    await s.one('enforced', TEN.gcra, 10)
    expect(kinds(await s.use(shadow, charge('enforced', TEN.gcra, 1)))).toEqual(['allowed', 'refused'])
    expect(await s.remaining('shadow', TEN[algorithm])).toBe(10)
  })

  it.each(NAMES)(
    'lets a group pass of whose rules in quota mode one fits, and charges what fits (%s)',
    async (algorithm) => {
      const [spent, open] = [inQuota('spent', TEN[algorithm]), inQuota('open', TEN[algorithm])]
      await s.use({ ...spent, cost: 10 })
      expect(kinds(await s.use(spent, open, charge('other', TEN.gcra, 1)))).toEqual(['refused', 'allowed', 'allowed'])
      expect([await s.remaining('open', TEN[algorithm]), await s.remaining('other', TEN.gcra)]).toEqual([9, 9])
    },
  )

  it.each(NAMES)('refuses a group none of whose rules in quota mode fits (%s)', async (algorithm) => {
    const [one, two] = [inQuota('one', TEN[algorithm]), inQuota('two', TEN[algorithm])]
    await s.use({ ...one, cost: 10 }, { ...two, cost: 10 })
    const { verdicts, permits } = await s.use(one, charge('other', TEN.gcra, 1), two)
    expect([kinds({ verdicts }), permits]).toEqual([['refused', 'allowed', 'refused'], undefined])
    expect(await s.remaining('other', TEN.gcra)).toBe(10)
  })

  it('refuses a group for a rule that is not in quota mode, though one in quota mode fits', async () => {
    await s.one('full', TEN.gcra, 10)
    expect(kinds(await s.use(inQuota('open', TEN.gcra), charge('full', TEN.gcra, 1)))).toEqual(['allowed', 'refused'])
    expect(await s.remaining('open', TEN.gcra)).toBe(10)
  })

  it.each(NAMES)('charges a counter of %s twice that a group names twice', async (algorithm) => {
    const { verdicts } = await s.use(charge('twice', TEN[algorithm], 3), charge('twice', TEN[algorithm], 4))
    expect(verdicts.map(({ remaining }) => remaining)).toEqual([7, 3])
    expect(await s.remaining('twice', TEN[algorithm])).toBe(3)
  })

  it.each(NAMES)('gives back and then charges a counter of %s that a group names twice', async (algorithm) => {
    // Nothing is used, so that there is nothing to give back: it must not pay for the charge.
    await s.use(charge('back', TEN[algorithm], -2), charge('back', TEN[algorithm], 4))
    expect(await s.remaining('back', TEN[algorithm])).toBe(6)
  })

  it.each(NAMES)(
    'refuses a group, and charges nothing, when the sum of two costs does not fit %s',
    async (algorithm) => {
      const twice = [charge('twice', TEN[algorithm], 4), charge('twice', TEN[algorithm], 4)]
      await s.use(charge('twice', TEN[algorithm], 3))
      expect(kinds(await s.use(...twice))).toEqual(['allowed', 'refused'])
      expect(await s.remaining('twice', TEN[algorithm])).toBe(7)
    },
  )

  it('calls a group impossible whose sum is above the limit', async () => {
    const verdicts = await s.decide(charge('k', TEN.sliding_window, 6), charge('k', TEN.sliding_window, 6))
    expect(verdicts[1]).toMatchObject({ kind: 'impossible', maxCost: 10 })
    expect(await s.remaining('k', TEN.sliding_window)).toBe(10)
  })
}
