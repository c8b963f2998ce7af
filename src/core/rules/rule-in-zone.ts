import { SluiceError } from '../errors.ts'
import type { Limit } from '../limit.ts'
import type { Rule } from '../rule.ts'
import { compileRuleLimit, optionsOf } from './shared-parts.ts'

/** By rule and time zone: made once, so that whatever is kept for a rule is found again. */
const made = new WeakMap<Rule, Map<string, Rule>>()

/** Says whether a rule is counted in the time zone of the customer who is calling. */
export const followsCustomer = ({ limit }: Rule): boolean => limit.calendar?.isOfCustomer === true

/** Returns a rule as it is in a time zone, if it follows that of the customer. */
export function ruleInZone(rule: Rule, timeZone: string): Rule {
  if (!followsCustomer(rule)) return rule
  const zones = made.get(rule) ?? new Map<string, Rule>()
  made.set(rule, zones)
  const known = zones.get(timeZone)
  if (known !== undefined) return known
  const limit = limitInZone(rule.limit, timeZone)
  const zoned = limit === undefined ? rule : Object.freeze({ ...rule, limit })
  zones.set(timeZone, zoned)
  return zoned
}

/**
 * Returns the limit in a time zone; undefined for a zone that this system does not know: then the rule's own calendar
 * counts.
 */
function limitInZone(limit: Limit, timeZone: string): Limit | undefined {
  const options = optionsOf(limit)
  if (options.calendar === undefined) return undefined
  try {
    return compileRuleLimit({ ...options, calendar: { unit: options.calendar.unit, timeZone } })
  } catch (error) {
    if (error instanceof SluiceError) return undefined
    throw error
  }
}
