import { holdsPermits, type Limit } from 'sluice/internal/core/limit'
import { UNIT_MS } from 'sluice/internal/core/rules/compile-rule'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { LimitEffect, PlainLimit } from '../api/change.ts'
import { unitOf } from '../counters/counters.ts'

/** Returns the limit of a rule; undefined where the rule refuses nothing. */
export function limitOfRule(rule: Rule | undefined): Limit | undefined {
  return rule === undefined || rule.unlimited ? undefined : rule.limit
}

export function plainLimit(limit: Limit): PlainLimit {
  const { max, capacity } = limit
  const isPlaces = holdsPermits(limit)
  return {
    requestsPerUnit: max,
    unit: isPlaces ? undefined : unitOf(limit),
    windowMs: isPlaces ? undefined : nominalMs(limit),
    burst: capacity === max ? undefined : capacity,
  }
}

/**
 * Says what a change does to a limit. The rate is compared first: requests in a window, divided by its length (of a calendar month: 30
 * days, of a year: 365). Where rates are equal, the count in a window is: of a bucket, its burst. No limit is more than any.
 */
export function effectOf(before: Limit | undefined, after: Limit | undefined): LimitEffect {
  if (before === undefined || after === undefined) {
    return before === after ? 'same' : before === undefined ? 'lowered' : 'raised'
  }
  if (holdsPermits(before) !== holdsPermits(after)) return 'replaced'
  const difference = holdsPermits(before) ? after.max - before.max : byRate(before, after)
  return difference === 0 ? 'same' : difference > 0 ? 'raised' : 'lowered'
}

/** byRate is above 0 where `after` admits more. Products of counts and windows are beyond the whole numbers of a double. */
function byRate(before: Limit, after: Limit): number {
  const [was, is] = [rateOver(before, after), rateOver(after, before)]
  return was === is ? after.capacity - before.capacity : is > was ? 1 : -1
}

const rateOver = (limit: Limit, other: Limit): bigint => BigInt(limit.max) * BigInt(nominalMs(other))

function nominalMs({ calendar, windowMs }: Limit): number {
  return calendar === undefined ? windowMs : UNIT_MS[calendar.unit]
}
