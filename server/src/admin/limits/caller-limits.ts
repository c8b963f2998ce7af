import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { Limit } from 'sluice/internal/core/limit'
import { onceLimit } from 'sluice/internal/core/limit'
import type { Entry } from 'sluice/internal/core/request'
import { explain, type RuleSourceNote } from 'sluice/internal/core/rules/explain'
import type { AccountLookup } from 'sluice/internal/core/rules/match'
import { DEFAULTS } from 'sluice/internal/core/rules/rule-defaults'
import type { Rule, RuleSet } from 'sluice/internal/core/rules/rule-set'
import { GRANT_DOMAIN, grantEntries, grantRule } from 'sluice/internal/engine/quotas'
import type { GrantRecord } from '../../quotas/book/grant-record.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { type CustomerRecord, KeyRecord } from '../../quotas/book/records.ts'
import { CallerWays, type MetCounter, metByCaller, type Way } from '../callers/caller-ways.ts'
import type { Caller } from '../callers/callers.ts'
import { descriptorOf, isOpen, type PatternEntry, pathText } from '../callers/entry-paths.ts'
import type { LimitSource } from './limit-states.ts'

/** A FoundLimit is one limit of a caller: on which counter, and where its number comes from. */
export interface FoundLimit {
  readonly domain: string
  /** What stands before the caller's entry; '' is nothing. */
  readonly above: string
  /** `default`, or what stands below the caller's entry. */
  readonly descriptor: string
  readonly rule: Rule
  readonly limit: Limit
  readonly source: LimitSource
  readonly caller: Caller
  /** The position of the caller's entry in the descriptor. */
  readonly callerAt: number
  /** It is about values that are not known: each has a separate counter. */
  readonly isPattern: boolean
  /** Undefined where the caller's value is not known, or another. */
  readonly key: string | undefined
}

/** Where callers' limits are looked for. */
export interface LimitPlaces {
  readonly rules: RuleSet
  readonly book: QuotaBook | undefined
  readonly keys: KeyEncoder
}

/** How many descriptors of callers are looked at for one answer. */
export const MAX_LOOKED = 1_000
/** How many of them are there because they were met. */
const MAX_MET = 500

/** CallerLimits are limits of callers, and of how many descriptors more there was no room to look. */
export interface CallerLimits {
  readonly found: readonly FoundLimit[]
  readonly omitted: number
}

/**
 * Finds the limits of callers, in an order that does not depend on what was used. Where there are many, those that were
 * met are all there, as far as there is room, and of the others the first.
 */
export function limitsOfCallers(
  places: LimitPlaces,
  callers: readonly Caller[],
  met: readonly MetCounter[],
): CallerLimits {
  const ways = new CallerWays(places.rules, places.book, true)
  const byCaller = metByCaller(met)
  let room = MAX_LOOKED - Math.min(met.length, MAX_MET)
  let roomForMet = MAX_MET
  let omitted = 0
  const found: FoundLimit[] = []
  for (const caller of callers) {
    for (const way of ways.of(caller, byCaller)) {
      if ((way.isMet ? roomForMet-- : room--) > 0) found.push(...limitsAt(places, way))
      else omitted++
    }
  }
  return { found, omitted }
}

/** limitsOfCaller finds every limit whose descriptor is known, however many there are. */
export function limitsOfCaller(
  places: LimitPlaces,
  caller: Caller,
  met: readonly MetCounter[] = [],
): readonly FoundLimit[] {
  const ways = new CallerWays(places.rules, places.book, false)
  return [...ways.of(caller, metByCaller(met))].flatMap((way) => limitsAt(places, way))
}

function limitsAt({ book, keys }: LimitPlaces, { caller, domain, above, below }: Way): readonly FoundLimit[] {
  const entry: Entry = { key: caller.key, value: caller.value ?? '' }
  const entries = [...above, entry, ...below]
  const lookup: AccountLookup = (name, each) => (each === entry ? caller.account : book?.accounts?.(name, each))
  const { rules, sources } = explain(domain, entries, undefined, lookup, book?.tiers)
  const found: FoundLimit[] = []
  for (const [i, rule] of rules.entries()) {
    if (rule.unlimited || rule.path.length !== entries.length) continue
    const isPattern = entries.some((each, at) => isOpen(each) && rule.path[at].sharedAs === undefined)
    const isKnown = caller.value !== undefined && !isPattern
    found.push({
      ...{ domain: domain.name, rule, limit: rule.limit, above: pathText(shown(rule, above, 0)) },
      descriptor: descriptorOf(shown(rule, below, above.length + 1)),
      ...{ source: sourceOf(sources[i], book), caller, callerAt: above.length, isPattern },
      key: isKnown ? keys.encode(domain.name, rule, entries) : undefined,
    })
  }
  return found
}

/** shown hides values that a rule calls secret. `from` is the position of the first entry in the descriptor. */
function shown({ path }: Rule, entries: readonly PatternEntry[], from: number): readonly PatternEntry[] {
  return entries.map((each, i) => (path[from + i].secret && each.pattern !== '' ? { ...each, pattern: SECRET } : each))
}

const SECRET = '(secret)'

/** sourceOf names the record that a number comes from. */
export function sourceOf(note: RuleSourceNote, book: QuotaBook | undefined): LimitSource {
  if (note.kind === 'tier') return { kind: 'tier', id: note.name }
  if (note.kind === 'rule') return { kind: 'rule', id: undefined }
  const kind = book?.ownerOf(note.id) instanceof KeyRecord ? 'key_override' : 'customer_override'
  return { kind, id: note.id }
}

const GRANTED: Omit<Rule, 'limit'> = { ...DEFAULTS, id: 'grant', name: 'grant', path: [] }

/** A FoundGrant is extra budget, and its counter. */
export interface FoundGrant {
  readonly grant: GrantRecord
  readonly key: string
  readonly limit: Limit
}

/** grantsOf finds the grants of a customer that are in force. */
export function grantsOf(customer: CustomerRecord | undefined, keys: KeyEncoder, nowMs: number): readonly FoundGrant[] {
  return (customer?.grants ?? [])
    .filter((grant) => grant.isFor(grant.path, nowMs))
    .map((grant) => {
      const limit = onceLimit(grant.amount)
      const rule = grantRule({ ...GRANTED, limit }, grant)
      return { grant, limit, key: keys.encode(GRANT_DOMAIN, rule, grantEntries(grant)) }
    })
}
