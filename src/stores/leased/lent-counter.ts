import type { BookedCounter } from '../lending/slice-book.ts'
import type { Slice } from './slice.ts'

/** Returns a slice as its holders see it: a counter whose budget is what the slice holds. */
export function lentCounter(slice: Slice, nowMs: number): BookedCounter {
  return {
    look: (cost) => {
      const hand = slice.inHand + slice.lent.out
      const verdict = slice.verdict(false, nowMs)
      const retryAfterMs = cost > hand && verdict.kind === 'refused' ? verdict.retryAfterMs : 0
      return { remaining: Math.max(0, hand), resetAfterMs: verdict.resetAfterMs, retryAfterMs }
    },
    charge: (cost) => slice.spendLent(cost),
  }
}
