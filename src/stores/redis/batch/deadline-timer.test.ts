import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DeadlineTimer } from './deadline-timer.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Has a timer whose rings are counted, and that tells how often one was made. */
function scene() {
  let dues = 0
  const made = vi.spyOn(globalThis, 'setTimeout')
  const now = () => performance.now()
  const timer = new DeadlineTimer(now, { stalled() {}, due: () => dues++ })
  const watch = (ms: number) => timer.watch(now() + ms)
  const keepsAlive = () => made.mock.results.at(-1)?.value.hasRef() as boolean
  return { timer, watch, made, keepsAlive, dues: () => dues }
}

describe('a timer of deadlines', () => {
  it('is made once for calls that follow each other', async () => {
    const { timer, watch, made } = scene()
    for (let i = 0; i < 5; i++) {
      watch(5)
      timer.rest()
    }
    expect(made).toHaveBeenCalledTimes(1)
  })

  it('keeps the process alive only while something is waited for', () => {
    const { timer, watch, keepsAlive } = scene()
    watch(5)
    expect(keepsAlive()).toBe(true)
    timer.rest()
    expect(keepsAlive()).toBe(false)
    watch(5)
    expect(keepsAlive()).toBe(true)
  })

  it('is gone after it rang, and rings for the next deadline', async () => {
    const { timer, watch, dues } = scene()
    watch(5)
    timer.rest()
    await vi.advanceTimersByTimeAsync(6)
    expect(vi.getTimerCount()).toBe(0)
    watch(5)
    await vi.advanceTimersByTimeAsync(6)
    expect(dues()).toBe(2)
  })

  it('is taken down when it would ring late', () => {
    const { timer, watch } = scene()
    watch(60_000)
    timer.rest()
    expect(vi.getTimerCount()).toBe(0)
  })
})
