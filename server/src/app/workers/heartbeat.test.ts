import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Heartbeat } from './heartbeat.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function started() {
  const ask = vi.fn()
  const silent = vi.fn()
  return { ask, silent, heartbeat: new Heartbeat(10_000, { ask, silent }) }
}

describe('a heartbeat', () => {
  it('that is answered continues', () => {
    const { ask, silent, heartbeat } = started()
    ask.mockImplementation(() => heartbeat.answered())
    vi.advanceTimersByTime(60_000)
    expect([ask.mock.calls.length, silent.mock.calls.length]).toEqual([60, 0])
  })

  it('that is not answered is reported once, and its timer ends', () => {
    const { ask, silent } = started()
    vi.advanceTimersByTime(10_999)
    expect([ask.mock.calls.length, silent.mock.calls.length]).toEqual([10, 0])
    vi.advanceTimersByTime(60_000)
    expect([ask.mock.calls.length, silent.mock.calls.length]).toEqual([10, 1])
  })

  it('that is answered late starts over', () => {
    const { silent, heartbeat } = started()
    vi.advanceTimersByTime(9_000)
    heartbeat.answered()
    vi.advanceTimersByTime(9_000)
    expect(silent).not.toHaveBeenCalled()
  })

  it('that is stopped asks no more', () => {
    const { ask, silent, heartbeat } = started()
    heartbeat.stop()
    vi.advanceTimersByTime(60_000)
    expect([ask.mock.calls.length, silent.mock.calls.length]).toEqual([0, 0])
  })
})
