import type { Decision } from '../combine.ts'

/**
 * Returns the value of Retry-After: whole seconds, never 0 on a refusal, never before the request would be admitted,
 * absent where waiting never helps. A rule's jitter is added, so that callers refused together do not return together.
 */
export function retryAfterSeconds(decision: Decision, random: () => number = none): number | undefined {
  const { retryAfterMs, tightest } = decision
  if (retryAfterMs === undefined) return undefined
  const jitterMs = tightest?.rule.retryAfterJitterMs ?? 0
  const waitMs = jitterMs === 0 ? retryAfterMs : retryAfterMs + random() * jitterMs
  return Math.max(1, Math.ceil(waitMs / 1000))
}

const none = (): number => 0
