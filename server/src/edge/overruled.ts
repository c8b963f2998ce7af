import type { Decision } from 'sluice/internal/core/combine'

/** overruled lets a refused request pass where SHADOW_MODE is on. What the rules said stays in the verdicts. */
export function overruled(decision: Decision, isShadow: boolean): Decision {
  return isShadow && !decision.allowed ? { ...decision, allowed: true, retryAfterMs: undefined } : decision
}
