import { expect, it } from 'vitest'
import type { Verdict } from '../../core/decision.ts'
import { type Algorithm, compileLimit, debitLimit, type Limit, type LimitOptions } from '../../core/limit.ts'
import { step } from '../../core/step.ts'
import {
  COUNTERS,
  charge,
  kinds,
  NAMES,
  optionsOf,
  START_MS,
  type Subject,
  TEN,
  withLimit,
  withOptions,
} from './subject.suite.ts'

/** lookClaims: a look leaves no trace, a refund gives back what was charged, a reset forgets one key. */
export function lookClaims(s: Subject): void {
  it.each(NAMES)('leaves no trace of a look at %s', async (algorithm) => {
    const limit = TEN[algorithm]
    expect(await s.one('seen', limit, 0)).toEqual(step(undefined, limit, START_MS, 0).verdict)
    await s.use(charge('used', limit, 10))
    const look = await s.one('used', limit, 0)
    expect(look).toMatchObject({ kind: 'refused', remaining: 0 })
    expect(await s.one('used', limit, 0)).toEqual(look)
    expect(await s.one('used', limit, 1)).toMatchObject({ kind: 'refused', remaining: 0 })
  })

  it.each(NAMES)('answers a look at %s as the next hit', async (algorithm) => {
    const limit = TEN[algorithm]
    await s.use(charge('nearly', limit, 9))
    expect(await s.one('nearly', limit, 0)).toMatchObject({ kind: 'allowed', remaining: 1 })
    await s.use(charge('nearly', limit, 1))
    const look = await s.one('nearly', limit, 0)
    expect(look).toMatchObject({ kind: 'refused', remaining: 0 })
    expect(look).toEqual(await s.one('nearly', limit, 1))
  })

  it.each(NAMES)('names a reset when it refuses what %s can never admit', async (algorithm) => {
    const [unused, blocked] = [TEN[algorithm], withLimit(TEN[algorithm], 0)]
    for (const [limit, cost] of [
      [unused, 11],
      [blocked, 1],
    ] as const) {
      const expected = step(undefined, limit, START_MS, cost).verdict
      expect(expected.resetAfterMs).toBeGreaterThan(0)
      expect(await s.one('never', limit, cost)).toEqual(expected)
    }
  })

  it.each(COUNTERS)('gives back what %s charged, and never more than the whole budget', async (algorithm) => {
    const limit = TEN[algorithm]
    await s.one('refunded', limit, 7)
    expect(await s.one('refunded', limit, -3)).toMatchObject({ kind: 'allowed', remaining: 6 })
    expect(await s.one('refunded', limit, -100)).toMatchObject({ kind: 'allowed', remaining: 10, resetAfterMs: 0 })
    expect(await s.one('new', limit, -5)).toMatchObject({ kind: 'allowed', remaining: 10, resetAfterMs: 0 })
    expect(await s.one('refunded', limit, 10)).toMatchObject({ kind: 'allowed', remaining: 0 })
  })

  it('gives no place of a concurrency limit back for a negative cost: leases are released', async () => {
    await s.take('held', TEN.concurrency, 4)
    await s.one('held', TEN.concurrency, -2)
    await s.use(charge('held', TEN.concurrency, -2))
    expect(await s.remaining('held', TEN.concurrency)).toBe(6)
  })

  it.each(NAMES)('resets one key of %s, and no other', async (algorithm) => {
    await s.use(charge('one', TEN[algorithm], 10))
    await s.use(charge('two', TEN[algorithm], 10))
    await s.store.reset('one', TEN[algorithm])
    await s.store.reset('never seen', TEN[algorithm])
    expect(await s.remaining('one', TEN[algorithm])).toBe(10)
    expect(await s.remaining('two', TEN[algorithm])).toBe(0)
  })
}

/** A bucket counts in units of its own pace, which another limit changes: what was used does not carry over. */
const BUCKETS: readonly string[] = ['token_bucket', 'gcra', 'leaky_bucket'] satisfies Algorithm[]
const CALENDAR_MONTH: LimitOptions = { algorithm: 'fixed_window', limit: 10, calendar: { unit: 'month' } }

const atMost = (most: number) => (value: number) => value <= most

/** shapeClaims: a rule whose algorithm or window changes starts anew; one whose limit changes goes on. */
export function shapeClaims(s: Subject): void {
  it('keeps apart the counters that a key has under other algorithms', async () => {
    for (const [i, algorithm] of NAMES.entries()) await s.use(charge('same', TEN[algorithm], i + 1))
    const left = await Promise.all(NAMES.map((algorithm) => s.remaining('same', TEN[algorithm])))
    expect(left).toEqual(NAMES.map((_, i) => 9 - i))
  })

  it.each(COUNTERS)('keeps apart the counters that a key has under other windows of %s', async (algorithm) => {
    const limit = TEN[algorithm]
    const hourly = compileLimit(limit.calendar ? CALENDAR_MONTH : { ...optionsOf(limit), window: '1h' })
    await s.one('same', limit, 10)
    expect(await s.remaining('same', hourly)).toBe(10)
    expect(await s.one('same', limit, 1)).toMatchObject({ allowed: false })
  })

  it('keeps apart the counters that a key has on calendars of other time zones', async () => {
    const inZone = (timeZone: string) =>
      withOptions(TEN['fixed_window on a calendar'], { calendar: { unit: 'day', timeZone } })
    await s.one('same', inZone('Asia/Tokyo'), 10)
    expect(await s.remaining('same', inZone('America/Lima'))).toBe(10)
    expect(await s.remaining('same', inZone('Asia/Tokyo'))).toBe(0)
  })

  it.each(BUCKETS)('lets %s owe at most one bucket when the burst is lowered', async (algorithm) => {
    const [wide, narrow] = [100, 3].map((burst) => withOptions(TEN[algorithm], { burst }))
    await s.one('owing', wide, 100)
    const { state } = step(undefined, wide, START_MS, 100)
    expect(await s.one('owing', narrow, 1)).toEqual(step(state, narrow, START_MS, 1).verdict)
    expect(await s.one('owing', narrow, 0)).toMatchObject({
      remaining: 0,
      resetAfterMs: expect.toSatisfy(atMost(2 * 3 * 6_000)),
    })
  })

  it.each(NAMES.filter((algorithm) => !BUCKETS.includes(algorithm)))(
    'keeps what was used of %s when the limit is raised or lowered',
    async (algorithm) => {
      const limit = TEN[algorithm]
      await s.use(charge('kept', limit, 8))
      expect(await s.remaining('kept', withLimit(limit, 25))).toBe(17)
      expect(await s.remaining('kept', withLimit(limit, 9))).toBe(1)
      expect(await s.one('kept', withLimit(limit, 5), 1)).toMatchObject({ kind: 'refused', remaining: 0 })
      expect(await s.remaining('kept', limit)).toBe(2)
    },
  )
}

/** deniedClaims: with count_denied, a rule charges what it refuses itself. */
export function deniedClaims(s: Subject): void {
  const denied = COUNTERS.map((algorithm) => [algorithm, withOptions(TEN[algorithm], { countDenied: true })] as const)

  it.each(denied)('charges refused requests to %s: a caller that continues stays refused', async (_, limit) => {
    await s.one('hammers', limit, 10)
    const expected = step(step(undefined, limit, START_MS, 10).state, limit, START_MS, 5)
    expect(await s.one('hammers', limit, 5)).toEqual(expected.verdict)
    expect(await s.one('hammers', limit, 0)).toEqual(step(expected.state, limit, START_MS, 0).verdict)
  })

  it.each(denied)('charges a cost above the limit to %s: later hits are refused', async (_, limit) => {
    expect(await s.one('debited', limit, 11)).toMatchObject({ kind: 'impossible', remaining: 0 })
    expect(await s.one('debited', limit, 1)).toMatchObject({ kind: 'refused', remaining: 0 })
    expect(await s.one('huge', limit, 2 ** 40)).toMatchObject({ kind: 'impossible', remaining: 0 })
    expect(await s.one('huge', limit, 0)).toMatchObject({ kind: 'refused', remaining: 0 })
  })

  it.each(denied)('charges nothing to %s for a look', async (_, limit) => {
    await s.one('looked at', limit, 10)
    for (let i = 0; i < 5; i++) await s.one('looked at', limit, 0)
    const { state } = step(undefined, limit, START_MS, 10)
    expect(await s.one('looked at', limit, 2)).toEqual(step(state, limit, START_MS, 2).verdict)
  })

  it.each(denied)('charges %s for its own refusal only, not for that of another rule', async (_, limit) => {
    await s.one('full', TEN.fixed_window, 10)
    expect(kinds(await s.use(charge('open', limit, 1), charge('full', TEN.fixed_window, 1)))).toEqual([
      'allowed',
      'refused',
    ])
    expect(await s.remaining('open', limit)).toBe(10)
  })

  it('joins hits of one time in a log, of which it forgets surplus ones together', async () => {
    const limit = compileLimit({ algorithm: 'sliding_log', limit: 4, window: '1m', countDenied: true })
    await s.one('surplus', limit, 2)
    await s.one('surplus', limit, 2)
    expect(await s.one('surplus', limit, 3)).toMatchObject({ kind: 'refused' })
    expect(await s.one('surplus', limit, -4)).toMatchObject({ kind: 'allowed', remaining: 1 })
  })
}

/** lateClaims: what is charged late is charged whether it fits or not, into a debt of one budget at the most. */
export function lateClaims(s: Subject): void {
  const late = async (key: string, limit: Limit, cost: number): Promise<Verdict> =>
    (await s.decide({ ...charge(key, limit, cost), debit: true }))[0]

  it.each(COUNTERS)('charges %s late what fits, as any other charge', async (algorithm) => {
    const limit = TEN[algorithm]
    await s.one('late', limit, 3)
    expect(await late('late', limit, 4)).toMatchObject({ kind: 'allowed', remaining: 3, dropped: 0 })
    expect(await s.remaining('late', limit)).toBe(3)
  })

  it.each(COUNTERS)('charges %s late what does not fit: later hits are refused', async (algorithm) => {
    const limit = TEN[algorithm]
    await s.one('owes', limit, 8)
    expect(await late('owes', limit, 7)).toMatchObject({ kind: 'allowed', remaining: 0, dropped: 0 })
    const { state } = step(step(undefined, limit, START_MS, 8).state, debitLimit(limit), START_MS, 7)
    expect(await s.one('owes', limit, 1)).toEqual(step(state, limit, START_MS, 1).verdict)
    expect(await s.one('owes', limit, -15)).toMatchObject({ kind: 'allowed', remaining: 10 })
  })

  it.each(COUNTERS)('drops what would put %s more than a budget into debt, and says so', async (algorithm) => {
    const limit = TEN[algorithm]
    const first = step(undefined, debitLimit(limit), START_MS, 25)
    expect(first.dropped).toBe(5)
    expect(await late('deep', limit, 25)).toMatchObject({ kind: 'allowed', remaining: 0, dropped: 5 })
    expect(await s.one('deep', limit, 1)).toEqual(step(first.state, limit, START_MS, 1).verdict)
  })

  it('charges all of a group late, each as far as it goes', async () => {
    const charges = COUNTERS.map((algorithm, i) => ({ ...charge('all', TEN[algorithm], 8 + i), debit: true }))
    await s.one('all', TEN.fixed_window, 10)
    const verdicts = await s.decide(...charges, charge('all', TEN.concurrency, 1))
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([...charges.map(() => true), true])
    for (const { limit } of charges.slice(2)) expect(await s.one('all', limit, 1)).toMatchObject({ allowed: false })
  })
}
