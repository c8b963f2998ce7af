import type { Decision } from '../combine.ts'

/** retryAfterSeconds is what Retry-After says: whole seconds, never 0 on a refusal, absent where waiting never helps. */
export function retryAfterSeconds(decision: Decision): number | undefined {
  return decision.retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(decision.retryAfterMs / 1000))
}
