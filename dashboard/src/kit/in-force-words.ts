import { durationText } from 'sluice/internal/core/duration-text'
import type { LimitsRemoved, PlainLimit, RuleInForce } from '../api/operations.ts'
import { wholeCount } from '../format/count.ts'

/** plainText says a limit in words: 600 per minute. */
export function plainText(limit: PlainLimit | null): string {
  if (limit === null) return 'no limit'
  const { requests_per_unit: count, unit, window_ms: windowMs, burst } = limit
  if (windowMs === null) return `${wholeCount(count)} at the same time`
  const rate = `${wholeCount(count)} ${unit === null ? `in ${durationText(windowMs)}` : `per ${unit}`}`
  return burst === null ? rate : `${rate}, burst ${wholeCount(burst)}`
}

/** How an effect is called where it has to be seen. */
export const EFFECT_WORDS: Readonly<Record<RuleInForce['effect'], string>> = {
  lowered: 'lower',
  raised: 'higher',
  same: 'as before',
  replaced: 'another kind',
}

export const lowered = (rules: readonly RuleInForce[]): readonly RuleInForce[] =>
  rules.filter(({ effect }) => effect === 'lowered')

/** lowersText says what a raise would do to limits that it lowers, and how to raise the others alone. */
export const lowersText = (count: number): string =>
  count === 1
    ? 'This raise lowers a limit: it would admit fewer requests over time. Go back to use another unit.'
    : `This raise lowers ${wholeCount(count)} limits: they would admit fewer requests over time. Go back to raise one limit alone, or to use another unit.`

/** How many rules a short message names. */
const MAX_NAMED = 2

/** Returns the name of a rule and, where that is another, its id. */
const ruleText = ({ domain, rule, rule_name: name }: RuleInForce): string =>
  name === rule ? `${domain}/${name}` : `${domain}/${name} (${rule})`

/** inForceText says after a change where it is in force, or what is wrong; empty for a change that is not one of limits. */
export function inForceText(answer: unknown): string {
  if (!isInForce(answer)) return ''
  const { in_force_on: rules, in_force_on_total: total, warnings } = answer
  if (rules.length === 0) return warnings.join(' ')
  const names = [...new Set(rules.map(ruleText))]
  const shown = names.slice(0, MAX_NAMED).join(', ')
  const more = total - Math.min(MAX_NAMED, names.length)
  const where = names.length > MAX_NAMED ? `${shown} and ${wholeCount(more)} more` : shown
  return [`In force on ${where}.`, ...warnings].join(' ')
}

/** The rules of an entry of the audit log that a change was in force on. */
interface AuditedInForce {
  readonly total: number
  readonly rules: readonly RuleInForce[]
}

/** auditedText says what an entry of the audit log has about where a change is in force. */
export function auditedText({ total, rules }: AuditedInForce): string {
  if (total === 0) return 'no rule'
  const each = rules.map((rule) => `${ruleText(rule)}: ${plainText(rule.before)} → ${plainText(rule.after)}`)
  const more = total - rules.length
  return more === 0 ? each.join('; ') : `${each.join('; ')}; and ${wholeCount(more)} more`
}

/** isUnused says whether a change of limits was made that no rule uses. */
export const isUnused = (answer: unknown): boolean =>
  isInForce(answer) && answer.in_force_on.length === 0 && answer.warnings.length > 0

function isInForce(answer: unknown): answer is LimitsRemoved {
  return typeof answer === 'object' && answer !== null && 'in_force_on' in answer
}
