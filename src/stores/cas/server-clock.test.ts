import { describe, expect, it } from 'vitest'
import { ServerClock } from './server-clock.ts'

/** A server whose clock is ahead, and shows time in steps. */
function scene(aheadMs: number, stepMs: number) {
  let at = 1_000.25
  let ahead = aheadMs
  const clock = new ServerClock(() => at)
  const trueMs = (): number => at + ahead
  const sample = (thereMs = 3, backMs = 3): number => {
    const askedAt = at
    at += thereMs
    const ms = Math.floor(trueMs() / stepMs) * stepMs
    at += backMs
    clock.learn({ ms, withinMs: stepMs }, askedAt)
    return clock.nextSampleInMs(stepMs)
  }
  return {
    clock,
    sample,
    trueMs,
    pass: (ms: number) => {
      at += ms
    },
    set: (ms: number) => {
      ahead = ms
    },
  }
}

describe('server clock', () => {
  it('shows the time of a server within the time that an answer takes', () => {
    const { clock, sample, trueMs, pass } = scene(1_780_000_000_000, 1)
    expect(clock.isKnown).toBe(false)
    sample(9, 1)
    expect(Math.abs(clock.nowMs() - trueMs())).toBeLessThanOrEqual(6)
    for (let i = 0; i < 5; i++, pass(10_000)) expect(sample(1, 9)).toBe(10_000)
    expect(Math.abs(clock.nowMs() - trueMs())).toBeLessThanOrEqual(6)
  })

  it.each([1_780_000_000_417, -86_400_123, 5_999])(
    'finds the milliseconds of a clock of seconds (%d ms ahead)',
    (ahead) => {
      const { clock, sample, trueMs, pass } = scene(ahead, 1_000)
      for (let i = 0; i < 11; i++) pass(sample())
      sample()
      expect(Math.abs(clock.nowMs() - trueMs())).toBeLessThanOrEqual(20)
    },
  )

  it('does not go back because of a later sample', () => {
    const { clock, sample, pass } = scene(500_000, 1_000)
    let lastMs = Number.NEGATIVE_INFINITY
    for (let i = 0; i < 100; i++) {
      pass(sample(i % 7, i % 5))
      expect(clock.nowMs()).toBeGreaterThanOrEqual(lastMs)
      lastMs = clock.nowMs()
    }
  })

  it('follows a clock that was set forward or back', () => {
    const { clock, sample, trueMs, set, pass } = scene(1_000_000, 1)
    sample()
    for (const ahead of [5_000_000, 2_000_000]) {
      set(ahead)
      pass(10_000)
      sample()
      expect(Math.abs(clock.nowMs() - trueMs())).toBeLessThanOrEqual(6)
    }
  })

  it('follows a clock that is slower or faster', () => {
    const { clock, sample, trueMs, set, pass } = scene(1_000_000, 1)
    let ahead = 1_000_000
    for (let i = 0; i < 1_000; i++) {
      sample()
      ahead += 1
      set(ahead)
      pass(10_000)
    }
    expect(Math.abs(clock.nowMs() - trueMs())).toBeLessThanOrEqual(10)
  })

  it('does not ask all the time for what it cannot know better', () => {
    const { sample, pass } = scene(1_000_000, 1_000)
    let asked = 0
    for (let passedMs = 0; passedMs < 60_000; asked++) {
      const nextMs = sample(100, 100)
      passedMs += nextMs
      pass(nextMs)
    }
    expect(asked).toBeLessThan(60)
  })
})
