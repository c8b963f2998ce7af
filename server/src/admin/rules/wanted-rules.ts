import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { RuleSwitch } from '../../quotas/model.ts'
import { ACTIVITY } from '../activity/fleet-activity.ts'
import { type AdminParts, RECORDS } from '../api/parts.ts'

type IsWanted = (domain: string, rule: Rule) => boolean

const MOST_SWITCHES = 1_000
const nameOf = (domain: string, id: string): string => `${domain}/${id}`

/** wantedRules says which rules report alone now, or which refused lately. */
export function wantedRules(
  parts: AdminParts,
  only: 'shadow' | 'refusing',
  span: 'minute' | 'hour',
): Promise<IsWanted> {
  return only === 'shadow' ? inShadow(parts) : refusing(parts, span)
}

async function refusing(parts: AdminParts, span: 'minute' | 'hour'): Promise<IsWanted> {
  const { items } = await parts.get(ACTIVITY).list('fleet')
  const names = new Set<string>()
  for (const { domain, id, lastMinute, lastHour } of items) {
    const { refused, shadowRefused } = span === 'minute' ? lastMinute : lastHour
    if (refused + shadowRefused > 0) names.add(nameOf(domain, id))
  }
  return (domain, { id }) => names.has(nameOf(domain, id))
}

/** inShadow goes by the switch of a rule, which names it by its id or its name, then by that of all, then by the rule. */
async function inShadow(parts: AdminParts): Promise<IsWanted> {
  const switches = (await parts.find(RECORDS)?.list('switches', { limit: MOST_SWITCHES }))?.items ?? []
  const all = switches.find(({ rule }) => rule === undefined)
  const byName = new Map<string, RuleSwitch>()
  for (const each of switches) if (each.rule !== undefined) byName.set(nameOf(each.rule.domain, each.rule.id), each)
  return (domain, { id, name, shadow }) => {
    const own = byName.get(nameOf(domain, id)) ?? byName.get(nameOf(domain, name))
    const mode = (own ?? all)?.mode
    return mode === undefined ? shadow : mode === 'shadow'
  }
}
