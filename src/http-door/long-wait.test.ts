import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { runAfter } from './long-wait.ts'
import { holdBack } from './node-response.ts'
import { delayed } from './web-request.ts'

const DAY_MS = 86_400_000
const THIRTY_DAYS_MS = 30 * DAY_MS

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

it.each([0, 1, 2 ** 31 - 1, 2 ** 31, THIRTY_DAYS_MS, 365 * DAY_MS])('runs after %d ms, once, and not before', (ms) => {
  const run = vi.fn()
  runAfter(ms, run)
  if (ms > 0) vi.advanceTimersByTime(ms - 1)
  expect(run).not.toHaveBeenCalled()
  vi.advanceTimersByTime(ms > 0 ? 1 : 0)
  expect(run).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(2 * ms)
  expect(run).toHaveBeenCalledTimes(1)
})

it('does not run when it was called off, early or late', () => {
  for (const atMs of [0, 29 * DAY_MS]) {
    const run = vi.fn()
    const stop = runAfter(THIRTY_DAYS_MS, run)
    vi.advanceTimersByTime(atMs)
    stop()
    vi.advanceTimersByTime(2 * THIRTY_DAYS_MS)
    expect(run).not.toHaveBeenCalled()
  }
})

it('a request that is held back for more than 24.8 days does not continue immediately', () => {
  const goOn = vi.fn()
  const response = { closed: false, destroyed: false, once() {}, off() {} } as unknown as ServerResponse
  holdBack(response, THIRTY_DAYS_MS, goOn)
  vi.advanceTimersByTime(THIRTY_DAYS_MS - 1)
  expect(goOn).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(goOn).toHaveBeenCalledTimes(1)
})

it('a Request that is delayed for more than 24.8 days does not continue immediately', async () => {
  const goOn = vi.fn()
  void delayed(THIRTY_DAYS_MS, new AbortController().signal).then(goOn)
  await vi.advanceTimersByTimeAsync(THIRTY_DAYS_MS - 1)
  expect(goOn).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(goOn).toHaveBeenCalledWith(true)
})
