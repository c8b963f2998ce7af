import type { Algorithm } from 'sluice/internal/core/algorithms/algorithms'
import { durationText } from 'sluice/internal/core/duration-text'
import type { LimitNumbers, Result } from './simulate.ts'

/** What an algorithm is called, and what it keeps and does, in a line. */
export const ALGORITHM_WORDS: Readonly<Record<Algorithm, { readonly title: string; readonly about: string }>> = {
  sliding_window: { title: 'Sliding window', about: 'Two counts, the older one fading. The default.' },
  token_bucket: { title: 'Token bucket', about: 'Saves up a burst while it is quiet, then a steady rate.' },
  gcra: { title: 'GCRA', about: 'A token bucket in one number.' },
  leaky_bucket: { title: 'Leaky bucket', about: 'Holds requests back, so that they go on evenly.' },
  fixed_window: { title: 'Fixed window', about: 'One count, from zero in every window.' },
  sliding_log: { title: 'Sliding log', about: 'A record for each request. Exact.' },
  concurrency: { title: 'Concurrency', about: 'How many are in flight at the same time.' },
}

export interface Note {
  readonly text: string
  readonly isWarning: boolean
}

/** noteOn says in words what stands out in a result. */
export function noteOn(result: Result, numbers: LimitNumbers): Note {
  const { algorithm, worstBurst, longestDelayMs } = result
  const span = durationText(numbers.windowMs)
  if (algorithm === 'concurrency') {
    return {
      text: `Never more than ${numbers.atOnce} at the same time, however many that is in ${span}.`,
      isWarning: false,
    }
  }
  if (longestDelayMs > 0) {
    const text = `Holds requests back for up to ${durationText(longestDelayMs)}; at most ${worstBurst} go on in any ${span}.`
    return { text, isWarning: worstBurst > numbers.limit }
  }
  if (worstBurst > numbers.limit) {
    const times = Math.round((worstBurst / numbers.limit) * 10) / 10
    return { text: `Lets ${worstBurst} through within ${span}: ${times} times the limit.`, isWarning: true }
  }
  if (result.refused.every((count) => count === 0)) return { text: 'Admits everything.', isWarning: false }
  return { text: `Never more than the limit in any ${span}.`, isWarning: false }
}

/** shareText is a share in whole percent; all and nothing are said only where it is so. */
export function shareText(part: number, whole: number): string {
  if (whole === 0) return '–'
  if (part === whole) return '100 %'
  return `${part === 0 ? 0 : Math.min(99, Math.max(1, Math.round((part / whole) * 100)))} %`
}
