import { describe, expect, it } from 'vitest'
import { UsageProgress } from './usage-progress.ts'

describe('UsageProgress', () => {
  it('is that of the process that reported the longest ago', () => {
    const clock = { ms: 1_000 }
    const progress = new UsageProgress(() => clock.ms)
    const [first, second] = [{}, {}]
    expect(progress.untilMs).toBe(1_000)
    progress.began(first)
    clock.ms = 2_000
    progress.began(second)
    clock.ms = 5_000
    expect(progress.untilMs).toBe(1_000)
    progress.reported(first, 4_000)
    expect(progress.untilMs).toBe(2_000)
    progress.reported(second, 3_000)
    expect(progress.untilMs).toBe(3_000)
    progress.ended(second)
    expect(progress.untilMs).toBe(4_000)
    progress.reported(second, 9_000)
    progress.ended(first)
    expect(progress.untilMs).toBe(5_000)
  })
})
