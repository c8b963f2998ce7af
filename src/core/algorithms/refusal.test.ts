import { describe, expect, it } from 'vitest'
import type { Limit } from '../limit.ts'
import { type CounterState, step } from '../step.ts'
import { holds, KIND_NAMES, play, type Request, steadySchedules } from './arbitraries.suite.ts'

describe.each(KIND_NAMES)('%s', (kind) => {
  it('answers as if looks and uncharged refusals had never come, of impossible costs too', () => {
    holds(kind, steadySchedules, 200, (limit, schedule) => {
      const charging = [...play(limit, schedule)].filter((request) => isCharged(limit, request))
      let state: CounterState | undefined
      for (const { nowMs, cost, verdict } of charging) {
        const again = step(state, limit, nowMs, cost)
        expect(again.verdict).toEqual(verdict)
        state = again.state
      }
    })
  })

  it('admits every refund, and never has more than the capacity or less than nothing left', () => {
    holds(kind, steadySchedules, 100, (limit, schedule) => {
      for (const { cost, verdict } of play(limit, schedule)) {
        if (cost < 0) expect(verdict.kind).toBe('allowed')
        expect(verdict.remaining).toBeGreaterThanOrEqual(0)
        expect(verdict.remaining).toBeLessThanOrEqual(limit.capacity)
      }
    })
  })
})

function isCharged(limit: Limit, { cost, verdict }: Request): boolean {
  return cost !== 0 && (verdict.allowed || limit.countDenied)
}
