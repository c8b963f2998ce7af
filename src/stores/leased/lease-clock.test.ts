import { describe, expect, it } from 'vitest'
import { LeaseClock } from './lease-clock.ts'

describe('the clock of leases', () => {
  /** A clock on a wall and a monotonic clock; `go` moves them, each by its own. */
  function clock() {
    const at = { wall: 1_000_000, monotonic: 50 }
    const lease = new LeaseClock(
      () => at.wall,
      () => at.monotonic,
    )
    const go = (wallMs: number, monotonicMs: number): number => {
      const before = lease.nowMs()
      at.wall += wallMs
      at.monotonic += monotonicMs
      return lease.nowMs() - before
    }
    return { lease, go }
  }

  it('begins with the wall clock and continues with the monotonic one', () => {
    const { lease, go } = clock()
    expect(lease.nowMs()).toBe(1_000_000)
    expect([go(100, 100), go(0, 0), go(1, 0.5)]).toEqual([100, 0, 0.5])
  })

  it('has slept as long as the machine did', () => {
    expect(clock().go(3_600_000, 5)).toBe(3_600_000)
  })

  it('does not go back with a wall clock that is set back, and notices sleep after that', () => {
    const { go } = clock()
    expect([go(-3_600_000, 10), go(10, 10), go(60_000, 10)]).toEqual([10, 10, 60_000])
  })

  it('does not add up how finely the wall clock counts', () => {
    const { go } = clock()
    let passed = 0
    for (let i = 0; i < 1000; i++) passed += go(i % 2, 0.5)
    expect(passed).toBe(500)
  })
})
