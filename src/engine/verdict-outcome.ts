import type { Verdict } from '../core/decision.ts'
import type { Charge } from './ports.ts'

/** What a rule may have said, in the words of metrics. */
export const OUTCOMES = ['allowed', 'denied', 'shadow_denied', 'fallback_allowed', 'fallback_denied'] as const

export const ALLOWED = 0
export const DENIED = 1
export const SHADOW_DENIED = 2
const FALLBACK_ALLOWED = 3
const FALLBACK_DENIED = 4

/** Returns the index of the outcome of a rule. A rule that only reports comes first. */
export function outcomeOf({ enforce }: Charge, { allowed, fallback }: Verdict): number {
  if (!allowed && !enforce) return SHADOW_DENIED
  if (fallback === undefined) return allowed ? ALLOWED : DENIED
  return allowed ? FALLBACK_ALLOWED : FALLBACK_DENIED
}
