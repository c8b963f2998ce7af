import { type Decision, letPass } from 'sluice/internal/core/combine'

/** Admits a refused request where SHADOW_MODE is on. The verdicts still say what the rules said. */
export function applyShadowMode(decision: Decision, isShadow: boolean): Decision {
  return isShadow ? letPass(decision) : decision
}
