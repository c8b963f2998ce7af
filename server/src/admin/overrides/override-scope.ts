import { formatDuration } from 'sluice/internal/core/duration'
import { SluiceError } from 'sluice/internal/core/errors'
import type { Override } from '../../quotas/model.ts'
import { optional, YES_OR_NO } from '../../records/forms.ts'
import type { InForce, PlainLimit, RuleInForce } from '../api/change.ts'
import { type AdminParts, PROBLEMS } from '../api/parts.ts'
import type { RecordCall } from '../api/record-operations.ts'
import { invalid } from '../api/values.ts'

/** What a request says that is to change more than it names. None of it is kept. */
export const CONSENT_FIELDS = {
  all: optional(YES_OR_NO, 'true: an override without domain and rule is for every rule, however many those are now'),
  intent: optional({ kind: 'choice', of: ['raise'] }, 'raise: refused if it lowers any limit'),
  allow_lower: optional(YES_OR_NO, 'true: it may lower limits, although it raises others or is meant as a raise'),
} as const

/** Throws for an override of a domain or rule that does not exist: it would do nothing. */
export function requireScope(parts: AdminParts, { domain, rule }: Pick<Override, 'domain' | 'rule'>): void {
  if (rule !== undefined && domain === undefined) throw invalid('body.rule', 'a rule is given together with its domain')
  const problem = parts.find(PROBLEMS)?.ofScope({ domain, rule })
  if (problem !== undefined) throw new SluiceError('OVERRIDE_SCOPE_UNKNOWN', 'body', problem)
}

/** Throws for an override that would do nothing, and returns what throws where it would change more than the request names. */
export function checkOverride({ parts, body }: RecordCall, after: Override, before: Override | undefined) {
  requireScope(parts, after)
  return requireConsent([{ before, after }], body as Consent)
}

interface Consent {
  readonly all?: boolean | null | undefined
  readonly intent?: 'raise' | null | undefined
  readonly allow_lower?: boolean | null | undefined
}

/** A PutOverride is an override before and after a request. */
export interface PutOverride {
  readonly before: Override | undefined
  readonly after: Override
}

/**
 * Returns what throws where overrides change more than the request names: several rules without `domain` and `all`, or limits that
 * become lower while others become higher. One that is for the same with the same numbers as before changes nothing.
 */
export function requireConsent(puts: readonly PutOverride[], { all, intent, allow_lower }: Consent) {
  return ({ rules }: InForce): void => {
    const changed = puts.filter(({ before, after }) => before === undefined || !isSame(before, after))
    const own = (id: string): readonly RuleInForce[] => rules.filter(({ overrideId }) => overrideId === id)
    for (const { after } of changed) {
      const found = own(after.id)
      if (after.domain === undefined && !all && namesOf(found).size > 1) throw tooMany(found)
    }
    if (allow_lower) return
    const about = intent === 'raise' ? [rules] : changed.map(({ after }) => own(after.id))
    for (const found of about) {
      const lowered = found.filter(({ effect }) => effect === 'lowered')
      const isMixed = found.some(({ effect }) => effect === 'raised')
      if (lowered.length > 0 && (isMixed || intent === 'raise')) throw lowers(lowered)
    }
  }
}

const FIELDS = ['descriptor', 'domain', 'rule', 'requestsPerUnit', 'unit', 'algorithm', 'burst'] as const

function isSame(before: Override, after: Override): boolean {
  const isOfSame = JSON.stringify(before.subject) === JSON.stringify(after.subject)
  return isOfSame && FIELDS.every((field) => before[field] === after[field])
}

const namesOf = (rules: readonly RuleInForce[]): ReadonlySet<string> =>
  new Set(rules.map(({ domain, ruleId }) => JSON.stringify([domain, ruleId])))

function tooMany(rules: readonly RuleInForce[]): SluiceError {
  return new SluiceError('OVERRIDE_SCOPE_NEEDED', 'body', `it is for ${namesOf(rules).size} rules: ${listed(rules)}`)
}

function lowers(rules: readonly RuleInForce[]): SluiceError {
  return new SluiceError('OVERRIDE_LOWERS', 'body', `it lowers ${listed(rules)}`)
}

/** How many rules an error names. */
const MAX_NAMED = 10

function listed(rules: readonly RuleInForce[]): string {
  const named = rules.slice(0, MAX_NAMED).map(({ domain, ruleId, before, after }) => {
    return `${domain}/${ruleId} (${words(before)} → ${words(after)})`
  })
  return [...named, ...(rules.length > MAX_NAMED ? [`and ${rules.length - MAX_NAMED} more`] : [])].join(', ')
}

function words(limit: PlainLimit | undefined): string {
  if (limit === undefined) return 'no limit'
  const { requestsPerUnit, unit, windowMs } = limit
  if (windowMs === undefined) return `${requestsPerUnit} at the same time`
  return unit === undefined ? `${requestsPerUnit} in ${formatDuration(windowMs)}` : `${requestsPerUnit} per ${unit}`
}
