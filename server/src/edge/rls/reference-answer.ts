import { type Limit, MAX_COUNT } from 'sluice/internal/core/limit'
import { OVER_LIMIT, type Status } from './rls-status.ts'

/*
 * The answers of envoyproxy/ratelimit where ours differ, for users who need exactly those.
 */

/**
 * Returns how long the window of a limit still lasts by the clock, used or not; undefined where windows do not follow
 * the clock.
 */
export function windowSeconds({ algorithm, calendar, isAnchored, windowMs }: Limit, nowMs: number): number | undefined {
  if (algorithm !== 'fixed_window' || calendar !== undefined || isAnchored) return undefined
  return Math.ceil((windowMs - (nowMs % windowMs)) / 1_000)
}

/**
 * Returns the status that headers describe: the first with the least remaining, shadow rules included, or else the last
 * that refuses. One in quota mode does not count as refusing.
 */
export function headlineOf(statuses: readonly Status[], size: number): Status | undefined {
  let headline: Status | undefined
  let least = MAX_COUNT
  for (let i = 0; i < size; i++) {
    const status = statuses[i]
    if (status.binding === undefined) continue
    if (status.remaining < least) {
      headline = status
      least = status.remaining
    }
    if (status.code === OVER_LIMIT && !status.binding.rule.quota) {
      headline = status
      least = 0
    }
  }
  return headline
}
