import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { MeterLimit } from '../../ledger/reconcile.ts'
import { rulesOf } from '../../observe/metrics/rules-of.ts'

/** Returns the rules that a meter pays for, by their names in usage. */
export function meterLimitsOf(rules: RuleSet): readonly MeterLimit[] {
  const limits = new Map<string, MeterLimit>()
  for (const { domain, rule } of rulesOf(rules)) {
    const { ledger } = rule
    if (ledger === undefined || rule.shadow) continue
    const limit = `${domain}/${rule.id}`
    const amount = typeof ledger.amount === 'number' ? ledger.amount : undefined
    limits.set(limit, { limit, meterId: ledger.meter, amount })
  }
  return [...limits.values()]
}
