import type { RuleSet } from 'sluice/internal/core/rules/rule-set'

/** Formats a count of something: `1 file`, `2 files`. */
export function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/** Formats how much there is in a set of rules: `3 limits in 1 domain`. */
export function summary(rules: RuleSet): string {
  return `${plural(rules.ruleCount, 'limit')} in ${plural(rules.domains.size, 'domain')}`
}
