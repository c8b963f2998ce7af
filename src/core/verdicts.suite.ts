import type { RuleVerdict } from './combine.ts'
import type { Verdict } from './decision.ts'
import { compileLimit, type LimitOptions } from './limit.ts'
import { DEFAULTS } from './rules/rule-defaults.ts'
import type { Rule } from './rules/rule-set.ts'

/** Makes a rule of any name, beyond what the rule language would accept. */
export function ruleNamed(name: string, limit: LimitOptions = { limit: 10, window: '1m' }, shadow = false): Rule {
  return { ...DEFAULTS, id: name, name, limit: compileLimit(limit), shadow, path: [] }
}

/** Makes a verdict of a rule. */
export function verdictBy(rule: Rule | string, verdict: Verdict, descriptor = 0): RuleVerdict {
  return { rule: typeof rule === 'string' ? ruleNamed(rule) : rule, descriptor, verdict }
}

export function allowed(remaining: number, resetAfterMs = 60_000, delayMs = 0): Verdict {
  return { kind: 'allowed', allowed: true, limit: 10, remaining, resetAfterMs, delayMs }
}

export function refused(retryAfterMs: number, remaining = 0, resetAfterMs = 60_000): Verdict {
  return { kind: 'refused', allowed: false, limit: 10, remaining, resetAfterMs, retryAfterMs }
}

export function impossible(maxCost = 10, remaining = 10): Verdict {
  return { kind: 'impossible', allowed: false, limit: 10, remaining, resetAfterMs: 0, maxCost }
}
