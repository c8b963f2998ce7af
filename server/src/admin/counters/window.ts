import type { Limit } from 'sluice/internal/core/limit'

/** A Window is the span that a counter counts now, for people. */
export interface Window {
  readonly windowStartMs: number
  readonly resetAtMs: number
}

/**
 * Returns the span that a limit counts now. Fixed and calendar windows follow the clock, used or not; all others end
 * when the counter is unused again.
 */
export function windowOf(limit: Limit, resetAfterMs: number, nowMs: number): Window {
  const { calendar, algorithm, windowMs, isAnchored } = limit
  if (calendar !== undefined) {
    const { startMs, endMs } = calendar.windowAt(nowMs)
    return { windowStartMs: startMs, resetAtMs: endMs }
  }
  if (algorithm === 'fixed_window' && !isAnchored) {
    const windowStartMs = Math.floor(nowMs / windowMs) * windowMs
    return { windowStartMs, resetAtMs: windowStartMs + windowMs }
  }
  const resetAtMs = nowMs + resetAfterMs
  return { windowStartMs: resetAtMs - Math.max(windowMs, resetAfterMs), resetAtMs }
}
