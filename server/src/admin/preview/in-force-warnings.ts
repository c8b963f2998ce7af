import type { Entry } from 'sluice/internal/core/request'
import { isApart } from 'sluice/internal/core/rules/caller-walk'
import { stepInto } from 'sluice/internal/core/rules/match'
import type { ReachedRule } from 'sluice/internal/core/rules/reached-rules'
import type { RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'
import { rulesOf } from '../../observe/metrics/rules-of.ts'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import { type OverrideScope, pathOf, scopeOf } from '../../quotas/book/override-record.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import type { Grant, Override, StoredTier } from '../../quotas/model.ts'
import type { RecordProblems } from '../api/parts.ts'
import { descriptorOf, type PatternEntry, pathText } from '../callers/entry-paths.ts'
import type { RecordChange } from './affected.ts'
import type { FoundRules } from './in-force.ts'

export interface WarningParts {
  readonly rules: RuleSet
  readonly book: QuotaBook
  readonly entries: CallerEntries
  readonly problems: RecordProblems
  readonly nowMs: number
}

const PARTLY = 'Not all rules were looked at, because there are so many: more may be affected.'

/** Returns what has to be known of changes: above all, of each that no rule uses, why that is and what to do. */
export function inForceWarnings(changes: readonly RecordChange[], found: FoundRules, parts: WarningParts): string[] {
  const warnings = changes.flatMap((change) => unusedWarning(change, found, parts) ?? [])
  const { keys } = parts.entries
  const isByKey = ({ entries, callerAt }: ReachedRule): boolean => keys.includes(entries[callerAt].key)
  for (const id of found.keyless) {
    if (found.touched.some(isByKey))
      warnings.push(`${id} has no API key yet: rules about ${keys.join(', ')} apply once it has one.`)
  }
  const isOff = ({ domain, after }: ReachedRule) => after && parts.book.switches?.(domain, after.rule) === 'off'
  const off = new Set(found.touched.filter(isOff).map(({ domain, id }) => `${id} of ${domain}`))
  if (off.size > 0) warnings.push(`Switched off, so that nothing is refused: ${[...off].slice(0, 5).join(', ')}.`)
  if (!found.isComplete) warnings.push(PARTLY)
  return warnings
}

function unusedWarning(change: RecordChange, found: FoundRules, parts: WarningParts): string | undefined {
  const reason = unusedReason(change, found, parts)
  return reason && `No rule uses it: ${reason}`
}

function unusedReason(change: RecordChange, found: FoundRules, parts: WarningParts): string | undefined {
  const { table, after } = change
  if (table === 'overrides') return ofOverride(change, found, parts)
  if (table === 'grants')
    return found.touched.length > 0 ? undefined : atPath((change.after ?? change.before) as Grant, found, parts)
  if (table === 'tiers' && found.touched.length === 0) {
    if (after === undefined) return 'nothing changes.'
    return `${parts.problems.ofTier(after as StoredTier) ?? 'it says nothing about what an API key or a customer leads to'}.`
  }
  return table === 'customers' || table === 'api_keys' ? ofTierName(change, found, parts) : undefined
}

function ofOverride({ id, after }: RecordChange, found: FoundRules, parts: WarningParts): string | undefined {
  const isOf = (each: ReachedRule['after']): boolean => each?.source.kind === 'account' && each.source.id === id
  if (found.touched.some((each) => isOf(after === undefined ? each.before : each.after))) return undefined
  if (after === undefined) return 'nothing changes.'
  const override = after as Override
  const problem = parts.problems.ofOverride(override)
  if (problem !== undefined) return `${problem}.`
  if ((override.expiresAtMs ?? Number.POSITIVE_INFINITY) <= parts.nowMs) return 'it has ended. Give a later expires_at.'
  return atPath(override, found, parts)
}

/** atPath says why nothing is in force at the descriptor of a record. */
function atPath(record: Override | Grant, { reached }: FoundRules, { entries, rules }: WarningParts): string {
  const callers = [...entries.keys, ...entries.customers]
  if (reached.length === 0)
    return `no rule has an entry that says who is calling (${callers.join(', ')}). ${NAME_CALLERS}`
  const { descriptor, ...rest } = record
  const scope = 'domain' in rest ? scopeOf(rest) : undefined
  const inScope = reached.filter((each) => isInScope(each, scope))
  if (inScope.length === 0) return `this caller does not lead to ${scopeWords(scope)}. ${LIST_RULES}`
  const here = inScope.filter((each) => isAt(each.entries, pathOf(descriptor), callers))
  const other = here.find(({ after }) => after?.source.kind === 'account')?.after?.source
  if (other?.kind === 'account') return `the override ${other.id} goes before it. Replace or remove that one.`
  if (here.length > 0) return leftAlone(here, rules, !('domain' in rest))
  if (scope?.rule !== undefined) return elsewhere(inScope, descriptor, scope)
  return `no rule is at the descriptor ${JSON.stringify(descriptor)} below an API key or a customer. ${LIST_RULES}`
}

const NAME_CALLERS = 'Add such an entry to a rule, or name yours with --api-key-entries or --customer-entries.'
const LIST_RULES = 'GET /admin/v1/rules lists the rules.'
const LIST_NAMED = 3

/** Says where a named rule is, for a record that is at another descriptor. */
function elsewhere(rules: readonly ReachedRule[], descriptor: string, scope: OverrideScope): string {
  const all = [...new Set(rules.map(descriptorTo))]
  const shown = all.slice(0, LIST_NAMED).map((each) => JSON.stringify(each))
  const more = all.length > LIST_NAMED ? ` or ${all.length - LIST_NAMED} more` : ''
  const values = shown.some((each) => each.includes(ANY_VALUE)) ? `, with a value in place of ${ANY_VALUE}` : ''
  return `${scopeWords(scope)} is at the descriptor ${shown.join(', ')}${more}, and not at ${JSON.stringify(descriptor)}. Send that as "descriptor"${values}.`
}

/** Stands for a value that a rule leaves open. */
const ANY_VALUE = 'VALUE'

/** Returns the descriptor at which an override is for a rule. */
function descriptorTo({ entries, callerAt, before, after }: ReachedRule): string {
  const path = (after ?? before)?.rule.path
  const below = entries.slice(callerAt + 1).map((entry, i): PatternEntry => {
    const step = path?.[callerAt + 1 + i]
    const isOpen = step !== undefined && (step.isOpen || step.sharedAs !== undefined)
    return isOpen ? { ...entry, pattern: ANY_VALUE } : entry
  })
  return descriptorOf(below)
}

/** Says why rules at the descriptor of a record stay as they are. */
function leftAlone(here: readonly ReachedRule[], rules: RuleSet, isGrant: boolean): string {
  const free = here.filter((each) => !isFixed(each, rules))
  if (free.length === 0) return `${listed(here)} ${FIXED}`
  const apart = free.filter(({ after }) => after !== undefined && isApart(after.rule))
  if (apart.length === 0) return `${listed(free)} ${isGrant ? UNLIMITED : FIXED}`
  return `${listed(apart)} ${isGrant ? NOT_GRANTED : APART}`
}

/** Returns whether the last pattern on the way to a rule says `tiered: false`, there or above. */
function isFixed({ domain, entries }: ReachedRule, rules: RuleSet): boolean {
  let node: RuleNode | undefined = rules.domains.get(domain)?.root
  let last = node?.isFixed ?? false
  for (const entry of entries) {
    node = node && stepInto(node, entry)
    last = node?.isFixed ?? last
  }
  return last
}

const FIXED =
  'stays as it is: it says "tiered: false", there or above, so no override, tier or grant changes it. Remove that from the rules, or change the limit there.'
const APART =
  'bans with a limit of 0 or counts requests at the same time: only an override that names the rule changes that. Send its "domain" and "rule".'
const NOT_GRANTED =
  'bans with a limit of 0 or counts requests at the same time: no grant adds to that. Change the limit with an override that names the rule.'

const UNLIMITED = 'is unlimited: it refuses no request, so it uses no grant.'

function listed(rules: readonly ReachedRule[]): string {
  const names = [...new Set(rules.map(({ domain, id }) => scopeWords({ domain, rule: id })))]
  const more = names.length > LIST_NAMED ? ` (and ${names.length - LIST_NAMED} more)` : ''
  return `${names.slice(0, LIST_NAMED).join(', ')}${more}`
}

function isInScope({ domain, id, name }: ReachedRule, scope: OverrideScope | undefined): boolean {
  if (scope === undefined) return true
  return scope.domain === domain && (scope.rule === undefined || scope.rule === id || scope.rule === name)
}

function scopeWords(scope: OverrideScope | undefined): string {
  if (scope?.rule === undefined) return `a rule of the domain ${JSON.stringify(scope?.domain)}`
  return `the rule ${JSON.stringify(scope.rule)} of the domain ${JSON.stringify(scope.domain)}`
}

/** isAt says whether what stands below an entry of a caller is a path. */
function isAt(entries: readonly Entry[], path: string, callers: readonly string[]): boolean {
  return entries.some(({ key }, i) => callers.includes(key) && pathText(entries.slice(i + 1)) === path)
}

interface HasTier {
  readonly tier?: string | undefined
}

/** ofTierName is about a customer or a key that is given another tier. */
function ofTierName(
  { before, after }: RecordChange,
  found: FoundRules,
  { rules, book }: WarningParts,
): string | undefined {
  const [was, is] = [(before as HasTier | undefined)?.tier, (after as HasTier | undefined)?.tier]
  if (is === undefined || was === is) return undefined
  if (found.reached.some(({ after: each }) => each?.source.kind === 'tier' && each.source.name === is)) return undefined
  const domains = [...rules.domains.values()]
  const isStored = domains.some((domain) => book.hasTier(domain.name, is))
  const isKnown = isStored || [...rulesOf(rules)].some(({ tier }) => tier === is)
  const name = JSON.stringify(is)
  if (!isKnown) return `no rule file and no tier of the API defines the tier ${name}. Define it, or correct the name.`
  return `the tier ${name} says nothing about the rules that this caller leads to, or overrides go before it.`
}
