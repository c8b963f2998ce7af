import type { LiveFrame } from '../../api/operations.ts'
import { ruleKey } from './switch-state.ts'

/** An Activity is what a rule did lately: how often it is asked now, and what it refused, or would have, in a while. */
export interface Activity {
  readonly perSecond: number
  readonly refused: number
  /** What the rule would have refused, were it not in shadow mode. */
  readonly shadowRefused: number
}

export type Activities = ReadonlyMap<string, Activity>

export const NO_ACTIVITY: Activity = { perSecond: 0, refused: 0, shadowRefused: 0 }

/** The rate is the mean of so many seconds: that of one second jumps. */
const RATE_FRAMES = 10
/** Refusals are those of five minutes. */
const SUM_MS = 300_000

/** activityOf sums what the frames say of each rule, by its key. Frames have the busiest rules of their second only. */
export function activityOf(frames: readonly LiveFrame[]): Activities {
  const lastMs = frames.at(-1)?.at_ms ?? 0
  const recent = frames.filter(({ at_ms }) => at_ms > lastMs - SUM_MS)
  const rated = Math.min(RATE_FRAMES, recent.length)
  const sums = new Map<string, { perSecond: number; refused: number; shadowRefused: number }>()
  recent.forEach(({ rules }, i) => {
    const isRated = i >= recent.length - rated
    for (const { domain, id, allowed, refused, shadow_refused } of rules) {
      const key = ruleKey(domain, id)
      const sum = sums.get(key) ?? { ...NO_ACTIVITY }
      sums.set(key, sum)
      sum.refused += refused
      sum.shadowRefused += shadow_refused
      if (isRated) sum.perSecond += (allowed + refused) / rated
    }
  })
  return sums
}
