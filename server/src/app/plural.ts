import type { RuleSet } from 'sluice/internal/core/rules/rule-set'

/** Spells how many there are of something: `1 file`, `2 files`. */
export function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/** Spells how much there is in a set of rules: `3 limits in 1 domain`. */
export function summary(rules: RuleSet): string {
  return `${plural(rules.ruleCount, 'limit')} in ${plural(rules.domains.size, 'domain')}`
}
