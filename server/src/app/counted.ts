import type { RuleSet } from 'sluice/internal/core/rules/rule-set'

/** counted spells how many there are of something: `1 file`, `2 files`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/** summary spells how much there is in a set of rules: `3 limits in 1 domain`. */
export function summary(rules: RuleSet): string {
  return `${counted(rules.ruleCount, 'limit')} in ${counted(rules.domains.size, 'domain')}`
}
