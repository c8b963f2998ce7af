import { isLeasable, type Limit } from './limit.ts'
import type { Rule } from './rule.ts'

/** Returns whether a limit can be read as a rate: nodes may count it apart, and it does not follow the calendar. */
export function canSample(limit: Limit): boolean {
  return isLeasable(limit) && limit.calendar === undefined
}

/** Returns whether nodes can count a limit together in this way. */
export function canCount(limit: Limit, consistency: Rule['consistency']): boolean {
  if (consistency === 'exact') return true
  return consistency === 'sampled' ? canSample(limit) : isLeasable(limit)
}

/** Returns why a limit cannot be counted so: the name of an option in code, or the algorithm. */
export function hindranceOf({ countDenied, calendar, algorithm }: Limit): string {
  if (countDenied) return 'countDenied'
  return calendar === undefined ? algorithm : 'calendar'
}
