import { mock } from 'node:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { rateLimit } from '../library/rate-limit.ts'
import { systemClock } from './system-clock.ts'

/** The fake timers that people have: how to begin at a moment, how to go on, and how to end. Those of Jest are vitest's. */
const FAKES: [string, (atMs: number) => void, (ms: number) => void, () => void][] = [
  [
    'vitest',
    (now) => void vi.useFakeTimers({ now }),
    (ms) => void vi.advanceTimersByTime(ms),
    () => void vi.useRealTimers(),
  ],
  [
    'vitest, of Date alone',
    (now) => void vi.useFakeTimers({ now, toFake: ['Date'] }),
    (ms) => void vi.setSystemTime(Date.now() + ms),
    () => void vi.useRealTimers(),
  ],
  [
    'node:test',
    (now) => mock.timers.enable({ apis: ['Date', 'setTimeout'], now }),
    (ms) => mock.timers.tick(ms),
    () => mock.timers.reset(),
  ],
]
const LATER = Date.parse('2040-01-31T23:59:59Z')
const BEFORE = Date.parse('2001-02-03T04:05:06Z')

describe.each(FAKES)('fake timers of %s', (_name, begin, goOn, end) => {
  afterEach(() => end())

  it.each([BEFORE, LATER])('are the time of a clock that was not asked before, at %d', (atMs) => {
    const clock = systemClock()
    begin(atMs)
    expect(clock.nowMs()).toBe(atMs)
    goOn(90_000)
    expect(clock.nowMs()).toBe(atMs + 90_000)
  })

  it('move a clock that was asked before, which never goes back', () => {
    const clock = systemClock()
    const realMs = clock.nowMs()
    begin(BEFORE)
    const fakeMs = clock.nowMs()
    expect(fakeMs).toBeGreaterThanOrEqual(realMs)
    expect(fakeMs).toBeLessThan(realMs + 60_000)
    goOn(90_000)
    expect(clock.nowMs()).toBe(fakeMs + 90_000)
    end()
    expect(clock.nowMs()).toBeGreaterThanOrEqual(fakeMs + 90_000)
  })

  it('move a limit that was made and used before', () => {
    const limiter = rateLimit({ limit: 1, window: '1m', algorithm: 'sliding_log' })
    limiter.check('a')
    begin(BEFORE)
    expect(limiter.check('a').allowed).toBe(false)
    goOn(60_000)
    expect(limiter.check('a').allowed).toBe(true)
  })

  it('show the date that calendars go by', () => {
    begin(LATER)
    const limiter = rateLimit({ limit: 1, algorithm: 'fixed_window', calendar: { unit: 'month' } })
    expect([limiter.check('a').allowed, limiter.check('a').allowed]).toEqual([true, false])
    goOn(1_000)
    expect(limiter.check('a').allowed).toBe(true)
  })
})

describe('systemClock', () => {
  it('is the real time again after fake timers that were behind', () => {
    const clock = systemClock()
    vi.useFakeTimers({ now: BEFORE })
    expect(clock.nowMs()).toBe(BEFORE)
    vi.useRealTimers()
    expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(60_000)
  })

  it('follows a spy on Date.now', () => {
    const clock = systemClock()
    const now = vi.spyOn(Date, 'now').mockReturnValue(LATER)
    expect(clock.nowMs()).toBe(LATER)
    now.mockRestore()
  })
})
