import { describe, expect, it } from 'vitest'
import { type BreakerState, CircuitBreaker } from './circuit-breaker.ts'

function bench() {
  const changes: BreakerState[] = []
  const breaker = new CircuitBreaker({ onChange: (state) => changes.push(state) })
  const fail = (times: number, nowMs = 0): void => {
    for (let i = 0; i < times; i++) breaker.failed(nowMs)
  }
  return { breaker, changes, fail }
}

describe('circuit breaker', () => {
  it('lets everything through while all is well', () => {
    const { breaker, changes } = bench()
    for (let nowMs = 0; nowMs < 100; nowMs++) {
      expect(breaker.allows(nowMs)).toBe(true)
      breaker.succeeded()
    }
    expect(changes).toEqual([])
  })

  it('opens at the third failure in a row, not at three that are not in a row', () => {
    const { breaker, fail } = bench()
    fail(2)
    breaker.succeeded()
    fail(2)
    expect(breaker.state).toBe('closed')
    fail(1)
    expect(breaker.state).toBe('open')
  })

  it('opens when failures in a row lie far enough apart, where they must', () => {
    const breaker = new CircuitBreaker()
    const states = [0, 1, 2, 99, 100].map((nowMs) => {
      breaker.failed(nowMs, 100)
      return breaker.state
    })
    expect(states).toEqual(['closed', 'closed', 'closed', 'closed', 'open'])
  })

  it('does not open at two failures that lie far apart, nor measures from one before a success', () => {
    const breaker = new CircuitBreaker()
    breaker.failed(0, 100)
    breaker.failed(500, 100)
    expect(breaker.state).toBe('closed')
    breaker.succeeded()
    for (const nowMs of [600, 601, 602]) breaker.failed(nowMs, 100)
    expect(breaker.state).toBe('closed')
  })

  it('opens where failures go on and the clock goes back', () => {
    const breaker = new CircuitBreaker()
    for (const nowMs of [1_000, 1_001, 0]) breaker.failed(nowMs, 100)
    expect(breaker.state).toBe('open')
  })

  it('lets nothing through for a second, then one probe at a time', () => {
    const { breaker, fail } = bench()
    fail(3, 1_000)
    expect([1_000, 1_500, 1_999].map((nowMs) => breaker.allows(nowMs))).toEqual([false, false, false])
    expect([2_000, 2_000, 2_500].map((nowMs) => breaker.allows(nowMs))).toEqual([true, false, false])
  })

  it('closes when the probe succeeds, and reports each change once', () => {
    const { breaker, changes, fail } = bench()
    fail(5)
    breaker.allows(1_000)
    breaker.succeeded()
    expect([breaker.state, breaker.allows(1_000), breaker.allows(1_000)]).toEqual(['closed', true, true])
    expect(changes).toEqual(['open', 'half_open', 'closed'])
  })

  it('opens again when the probe fails, for another second', () => {
    const { breaker, fail } = bench()
    fail(3)
    breaker.allows(1_000)
    breaker.failed(1_200)
    expect([1_200, 2_199].map((nowMs) => breaker.allows(nowMs))).toEqual([false, false])
    expect(breaker.allows(2_200)).toBe(true)
  })

  it('lets the next call probe when a probe could not be made', () => {
    const { breaker, changes, fail } = bench()
    fail(3)
    breaker.allows(1_000)
    breaker.notTried()
    expect([breaker.state, breaker.allows(1_001), breaker.allows(1_002)]).toEqual(['half_open', true, false])
    breaker.succeeded()
    expect(changes).toEqual(['open', 'half_open', 'closed'])
  })

  it('does not count what could not be tried, neither for nor against', () => {
    const { breaker, fail } = bench()
    fail(2)
    breaker.notTried()
    expect(breaker.state).toBe('closed')
    fail(1)
    expect(breaker.state).toBe('open')
  })

  it('needs three failures again after it has closed', () => {
    const { breaker, fail } = bench()
    fail(3)
    breaker.allows(1_000)
    breaker.succeeded()
    fail(2, 1_000)
    expect(breaker.state).toBe('closed')
  })

  it('is not kept open by a clock that was set back', () => {
    const { breaker, fail } = bench()
    fail(3, 1_000_000)
    expect(breaker.allows(5)).toBe(true)
  })
})
