import { describe, expect, it } from 'vitest'
import type { Limit } from '../limit.ts'
import { step } from '../step.ts'
import { holds, jumpySchedules, KIND_NAMES, play, type Request } from './arbitraries.suite.ts'

describe.each(KIND_NAMES)('%s', (kind) => {
  it('admits a refused cost at retryAfterMs, and not one millisecond before', () => {
    holds(kind, jumpySchedules, 300, (limit, schedule) => {
      for (const request of play(limit, schedule)) expectExactRetry(limit, request)
    })
  })

  it('admits a cost of exactly what remains, and nothing above it', () => {
    holds(kind, jumpySchedules, 300, (limit, schedule) => {
      for (const request of play(limit, schedule)) expectExactRemaining(limit, request)
    })
  })

  it('calls a cost impossible exactly when it is above the capacity', () => {
    holds(kind, jumpySchedules, 100, (limit, schedule) => {
      for (const { cost, verdict } of play(limit, schedule)) {
        expect(verdict.kind === 'impossible').toBe(cost > limit.capacity)
        if (verdict.kind === 'impossible') expect(verdict.maxCost).toBe(limit.capacity)
      }
    })
  })
})

function expectExactRetry(limit: Limit, { nowMs, cost, after, verdict }: Request): void {
  if (verdict.kind !== 'refused') return
  const { retryAfterMs } = verdict
  const [before, then] = [-1, 0].map((ms) => step(after, limit, nowMs + retryAfterMs + ms, cost).verdict.kind)
  // One assertion for each request: they take longer than what they look at.
  expect([retryAfterMs >= 1, before, then].join()).toBe('true,refused,allowed')
}

function expectExactRemaining(limit: Limit, { nowMs, after, verdict }: Request): void {
  const { remaining } = verdict
  if (remaining > 0) expect(step(after, limit, nowMs, remaining).verdict.kind).toBe('allowed')
  expect(step(after, limit, nowMs, remaining + 1).verdict.kind).not.toBe('allowed')
}
