import type { Entry } from 'sluice/internal/core/request'
import type { PathStep, Rule } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { OVERRIDE_ID } from 'sluice/internal/engine/plan'

/**
 * Returns what envoyproxy/ratelimit calls the counts of a charge: the domain, and each level as `key_value`, with the
 * value that the rule has, or, where the rule says so, that of the request.
 */
export function referenceStatName({ domain, rule, entries }: PlannedCharge): string {
  const isDetailed = rule.id === OVERRIDE_ID || rule.path.at(-1)?.detailedMetric === true
  const levels = rule.path.map((step, i) => level(step, entries[i], isDetailed))
  return cleaned(`${domain}.${levels.join('.')}`)
}

/** Returns whether the name of a rule's counts depends on the request. */
export function namesValues({ id, path }: Rule): boolean {
  return id === OVERRIDE_ID || path.at(-1)?.detailedMetric === true || path.some(({ valueToMetric }) => valueToMetric)
}

function level(step: PathStep, { key, value }: Entry, isDetailed: boolean): string {
  // Secrets stay secret, whatever the rule says of metrics.
  if (step.secret) return key
  const showsValue = isDetailed || step.valueToMetric || !step.isOpen
  const shown = step.sharedAs ?? (showsValue ? value : step.wildcard)
  return shown === undefined || shown === '' ? key : `${key}_${shown}`
}

const IPV4 = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/g

/** Leaves out what StatsD would take for something else. */
function cleaned(name: string): string {
  return name.replace(/[:|]/g, '_').replace(IPV4, (address) => address.replaceAll('.', '_'))
}
