import type { Limit } from 'sluice/internal/core/limit'
import type { Account } from 'sluice/internal/core/rules/account'
import type { SourcedRule } from 'sluice/internal/core/rules/explain'
import {
  MAX_PLACES,
  type ReachedRule,
  type ReachingCaller,
  reachedRules,
} from 'sluice/internal/core/rules/reached-rules'
import type { Domain, RuleSet } from 'sluice/internal/core/rules/rule-set'
import { grantsOf } from 'sluice/internal/engine/plan'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import { GrantRecord } from '../../quotas/book/grant-record.ts'
import { pathOf } from '../../quotas/book/override-record.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import type { ApiKey, Grant, Override, StoredTier } from '../../quotas/model.ts'
import type { RuleInForce } from '../api/change.ts'
import { entriesIn } from '../callers/entry-paths.ts'
import { affectedBy, type RecordChange } from './affected.ts'
import { changedBook, effectiveAt } from './changed-book.ts'
import { effectOf, limitOfRule, plainLimit } from './limit-effect.ts'

export interface InForceParts {
  readonly rules: RuleSet
  readonly book: QuotaBook
  readonly entries: CallerEntries
  readonly nowMs: number
}

/** What was found of changes, for the answer and for the reasons in it. */
export interface FoundRules {
  /** The rules that the changes are in force on, each pair of limits once. */
  readonly rules: readonly RuleInForce[]
  /** The same, as they were reached. */
  readonly touched: readonly ReachedRule[]
  /** Everything that the callers lead to. */
  readonly reached: readonly ReachedRule[]
  readonly isComplete: boolean
  /** Customers without an API key: what one of theirs would lead to is in the list. */
  readonly keyless: ReadonlySet<string>
}

/** How many callers of a change are looked at, where their keys differ. */
const MAX_KINDS = 16
/** A key that a customer does not have yet. */
const ANY_KEY = '$any'

type Callers = ReadonlyMap<string, ReachingCaller>

/**
 * Finds the rules that changes of records are in force on, by asking the rules what is decided before and after them.
 */
export function rulesInForce(changes: readonly RecordChange[], parts: InForceParts): FoundRules {
  return new Search(changes, parts).run()
}

class Search {
  readonly #changes: readonly RecordChange[]
  readonly #parts: InForceParts
  readonly #before: QuotaBook
  readonly #after: QuotaBook
  readonly #customers: ReadonlySet<string>
  readonly #keys: ReadonlySet<string>
  readonly #keyless = new Set<string>()
  readonly #paths: ReturnType<typeof entriesIn>[]

  constructor(changes: readonly RecordChange[], parts: InForceParts) {
    const { book, nowMs } = parts
    this.#changes = changes
    this.#parts = parts
    // Callers of a tier are too many to look at: one stands for all of them.
    const affected = affectedBy(
      changes.filter(({ table }) => table !== 'tiers'),
      book,
    )
    this.#customers = affected.customers
    this.#keys = affected.keys
    this.#before = book.sketch(affected, effectiveAt(changes, nowMs))
    this.#after = changedBook(changes, book, affected, nowMs)
    const named = changes.flatMap(({ before, after }) => [before, after]) as ({ descriptor?: string } | undefined)[]
    const paths = new Set(
      named.flatMap((record) => (record?.descriptor === undefined ? [] : pathOf(record.descriptor))),
    )
    this.#paths = [...paths].map(entriesIn)
  }

  run(): FoundRules {
    const reached: ReachedRule[] = []
    const touched: ReachedRule[] = []
    const rules = new Map<string, RuleInForce>()
    let left = MAX_PLACES
    let isComplete = true
    for (const { callers, domains, tier } of this.#questions()) {
      for (const domain of domains) {
        const found = reachedRules({
          ...{ domain, callers, paths: this.#paths, maxPlaces: left },
          ...{ tiersBefore: this.#before.tiers, tiersAfter: this.#after.tiers },
          ...(tier !== undefined && { tier }),
        })
        left = Math.max(0, left - found.places)
        isComplete &&= found.isComplete
        reached.push(...found.rules)
        for (const each of found.rules) {
          if (!this.#isTouched(each, tier)) continue
          touched.push(each)
          const rule = this.#ruleInForce(each)
          rules.set(JSON.stringify(rule), rule)
        }
      }
    }
    return { rules: [...rules.values()], touched, reached, isComplete, keyless: this.#keyless }
  }

  *#questions(): Iterable<{ callers: Callers; domains: readonly Domain[]; tier?: string }> {
    const domains = [...this.#parts.rules.domains.values()]
    for (const { table, before, after } of this.#changes) {
      if (table !== 'tiers') continue
      const { domain, name } = (after ?? before) as StoredTier
      const account: Account = { tier: name, hasLimits: false, ownLimit: () => undefined }
      const callers = this.#callersOf(() => account, undefined, undefined)
      yield { callers, domains: domains.filter((each) => each.name === domain), tier: name }
    }
    for (const id of this.#customers) {
      for (const keyId of this.#keysOf(id)) yield { callers: this.#callersFor(id, keyId), domains }
    }
    for (const id of this.#keys) yield { callers: this.#callersFor(undefined, id), domains }
  }

  #callersFor(customerId: string | undefined, keyId: string): Callers {
    const isKey = (key: string): boolean => this.#parts.entries.keys.includes(key)
    const accountIn = (book: QuotaBook) => (key: string) =>
      isKey(key) ? book.key(keyId) : customerId === undefined ? undefined : book.customer(customerId)
    const record = this.#after.key(keyId) ?? this.#before.key(keyId)
    const isValue = (value: string): boolean => record !== undefined && this.#after.isValueOf(record, value)
    return this.#callersOf((key, isAfter) => accountIn(isAfter ? this.#after : this.#before)(key), customerId, isValue)
  }

  #callersOf(
    accountOf: (key: string, isAfter: boolean) => Account | undefined,
    customerId: string | undefined,
    isValue: ((value: string) => boolean) | undefined,
  ): Callers {
    const { keys, customers } = this.#parts.entries
    const caller = (key: string, value: string | undefined): [string, ReachingCaller] => [
      key,
      { value, ...(isValue && { isValue }), before: accountOf(key, false), after: accountOf(key, true) },
    ]
    return new Map([...customers.map((key) => caller(key, customerId)), ...keys.map((key) => caller(key, undefined))])
  }

  /** #keysOf lists a key of each kind that a customer has, or one that it might have. */
  #keysOf(customerId: string): readonly string[] {
    const named = new Set(this.#changes.flatMap(keysNamedIn))
    const kinds = new Map<string, string>()
    for (const { id, customer, overrides, ownTier } of [...this.#before.keys(), ...this.#after.keys()]) {
      if (customer?.id !== customerId) continue
      if (named.has(id)) kinds.set(id, id)
      else if (kinds.size < MAX_KINDS) kinds.set(JSON.stringify([ownTier ?? null, overrides && id]), id)
    }
    if (kinds.size > 0) return [...kinds.values()]
    this.#keyless.add(customerId)
    for (const book of [this.#before, this.#after]) book.put('api_keys', ANY_KEY, anyKey(customerId))
    return [ANY_KEY]
  }

  #isTouched(reached: ReachedRule, tier: string | undefined): boolean {
    const { before, after } = reached
    if (tier !== undefined) return [before, after].some((each) => isOfTier(each, tier))
    const overrides = this.#changes.filter(({ table }) => table === 'overrides')
    if ([before, after].some((each) => overrides.some(({ id }) => isOf(each, id)))) return true
    return !isSame(before, after) || this.#isGranted(reached)
  }

  /** #isGranted says whether a grant that changes is used where a rule refuses. */
  #isGranted({ domain, entries, after }: ReachedRule): boolean {
    if (after === undefined || after.rule.unlimited) return false
    const { keys, customers } = this.#parts.entries
    return this.#changes.some((change) => {
      if (change.table !== 'grants') return false
      const grant = new GrantRecord((change.after ?? change.before) as Grant)
      const charge = { domain, entries, rule: after.rule }
      const isCaller = (key: string): boolean => keys.includes(key) || customers.includes(key)
      return (
        grantsOf(this.#parts.rules, charge, ({ key }, below) => (isCaller(key) && below === grant.path ? [grant] : []))
          .length > 0
      )
    })
  }

  #ruleInForce({ domain, id, name, before, after }: ReachedRule): RuleInForce {
    const [was, is] = [limitOfRule(before?.rule), limitOfRule(after?.rule)]
    const override = this.#changes.find((change) => change.table === 'overrides' && isOf(after, change.id))
    return {
      domain,
      ruleId: id,
      ruleName: name,
      before: was && plainLimit(was),
      after: is && plainLimit(is),
      effect: effectOf(was, is),
      overrideId: override?.id,
    }
  }
}

function keysNamedIn({ table, id, before, after }: RecordChange): readonly string[] {
  if (table === 'api_keys') return [id]
  if (table !== 'overrides') return []
  return [before, after].flatMap((record) => {
    const { subject } = (record ?? {}) as Partial<Override>
    return subject?.kind === 'key' ? subject.keyId : []
  })
}

function anyKey(customerId: string): ApiKey {
  const blank = { hash: ANY_KEY, prefix: '', name: '', tier: undefined, version: 1, createdAtMs: 0 }
  return { id: ANY_KEY, customerId, ...blank, revokedAtMs: undefined }
}

const isOf = (each: SourcedRule | undefined, overrideId: string): boolean =>
  each?.source.kind === 'account' && each.source.id === overrideId

const isOfTier = (each: SourcedRule | undefined, tier: string): boolean =>
  each?.source.kind === 'tier' && each.source.isStored && each.source.name === tier

function isSame(before: SourcedRule | undefined, after: SourcedRule | undefined): boolean {
  return (
    JSON.stringify(sourceOf(before)) === JSON.stringify(sourceOf(after)) &&
    areEqual(before?.rule.limit, after?.rule.limit)
  )
}

function sourceOf(each: SourcedRule | undefined): unknown {
  if (each === undefined) return undefined
  const { rule, source } = each
  return [rule.unlimited, source.kind, 'id' in source ? source.id : 'name' in source ? source.name : '']
}

function areEqual(a: Limit | undefined, b: Limit | undefined): boolean {
  return a?.max === b?.max && a?.capacity === b?.capacity && a?.shape === b?.shape
}
