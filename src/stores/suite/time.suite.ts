import { expect, it } from 'vitest'
import { step } from '../../core/step.ts'
import { COUNTERS, charge, NAMES, START_MS, type Subject, TEN } from './subject.suite.ts'

/** Requests as [ms since the start, cost], on a clock that is set back by a little, by a minute and by an hour. */
const JUMPS: readonly (readonly [atMs: number, cost: number])[] = [
  [0, 4],
  [30_000, 4],
  [29_000, 1],
  [31_000, 5],
  [-31_000, 1],
  [-30_000, 2],
  [59_000, 3],
  [-3_600_000, 3],
  [-3_590_000, 9],
  [-3_530_000, 9],
  [120_000, 10],
  [119_999, 1],
]

/** timeClaims: state expires, and waits are exact. */
export function timeClaims(s: Subject): void {
  it.each(NAMES)('has a key of %s as new once its state has expired', async (algorithm) => {
    const limit = TEN[algorithm]
    await s.use(charge('expires', limit, 10))
    for (const afterMs of [2 * limit.windowMs, 100 * limit.windowMs]) {
      s.at(START_MS + afterMs)
      expect(await s.one('expires', limit, 0)).toEqual(step(undefined, limit, START_MS + afterMs, 0).verdict)
      await s.use(charge('expires', limit, 10))
    }
  })

  it.each(NAMES)('admits again at retryAfterMs of %s, and not one millisecond before', async (algorithm) => {
    const limit = TEN[algorithm]
    await s.use(charge('waits', limit, 10))
    const refused = await s.one('waits', limit, 3)
    if (refused.kind !== 'refused') throw new Error(`expected a refusal, got ${refused.kind}`)
    s.at(START_MS + refused.retryAfterMs - 1)
    expect((await s.one('waits', limit, 3)).kind).toBe('refused')
    s.at(START_MS + refused.retryAfterMs)
    expect((await s.one('waits', limit, 3)).kind).toBe('allowed')
  })
}

/** jumpClaims: a clock that jumps does what step() says. */
export function jumpClaims(s: Subject): void {
  it.each(COUNTERS)('follows %s through a clock that jumps forward and back', async (algorithm) => {
    const limit = TEN[algorithm]
    let state: ReturnType<typeof step>['state']
    for (const [atMs, cost] of JUMPS) {
      s.at(START_MS + atMs)
      const expected = step(state, limit, START_MS + atMs, cost)
      expect(await s.one('jumps', limit, cost)).toEqual(expected.verdict)
      state = expected.state
    }
  })
}
