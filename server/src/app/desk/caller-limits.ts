import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { Limit } from 'sluice/internal/core/limit'
import { onceLimit } from 'sluice/internal/core/limit'
import type { Entry } from 'sluice/internal/core/request'
import { DEFAULTS } from 'sluice/internal/core/rules/compile-rule'
import { explain, type RuleSourceNote } from 'sluice/internal/core/rules/explain'
import { type Account, type AccountLookup, stepInto, tierOf } from 'sluice/internal/core/rules/match'
import type { Domain, Rule, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'
import { GRANT_DOMAIN, grantEntries, grantRule } from 'sluice/internal/engine/quotas'
import type { GrantRecord } from '../../quotas/book/grant-record.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { CustomerRecord, KeyRecord } from '../../quotas/book/records.ts'
import type { LimitSource } from '../../quotas/ports.ts'

/** A Caller is an entry that tells who is calling, and what is known of them. */
export interface Caller {
  /** The key of the entry, such as `api_key`. */
  readonly key: string
  /** Undefined: an API key that no request has carried since this node began. Its limits are known, and its counters not. */
  readonly value: string | undefined
  readonly account: CustomerRecord | KeyRecord | undefined
}

/** A FoundLimit is one limit of a caller: on which counter, and where its number comes from. */
export interface FoundLimit {
  readonly domain: string
  /** `default`, or what stands below the caller's entry. */
  readonly descriptor: string
  readonly rule: Rule
  readonly limit: Limit
  readonly source: LimitSource
  readonly caller: Caller
  /** The position of the caller's entry in the descriptor. */
  readonly callerAt: number
  /** Undefined where the caller's value is not known. */
  readonly key: string | undefined
}

/** Where callers' limits are looked for. */
export interface LimitPlaces {
  readonly rules: RuleSet
  readonly book: QuotaBook | undefined
  readonly keys: KeyEncoder
}

/** How many patterns are looked at: rules may have tens of thousands, and one caller's page shows few. */
const MAX_PATTERNS = 2_000

/** limitsOfCaller finds every limit whose descriptor begins with a caller, or with exact values before it. */
export function limitsOfCaller(places: LimitPlaces, caller: Caller): readonly FoundLimit[] {
  const found: FoundLimit[] = []
  for (const domain of places.rules.domains.values()) {
    for (const above of placesOf(domain, caller.key)) found.push(...limitsBelow(places, domain, above, caller))
  }
  return found
}

/** placesOf lists the entries that lead to patterns of a key. */
function* placesOf(domain: Domain, key: string): Generator<readonly Entry[]> {
  const waiting: { node: RuleNode; above: readonly Entry[] }[] = [{ node: domain.root, above: [] }]
  for (let looked = 0; waiting.length > 0 && looked < MAX_PATTERNS; looked++) {
    const { node, above } = waiting.shift() as (typeof waiting)[number]
    if (node.branches.has(key)) yield above
    for (const [name, { exact }] of node.branches) {
      if (name === key) continue
      for (const [value, next] of exact) waiting.push({ node: next, above: [...above, { key: name, value }] })
    }
  }
}

function limitsBelow(
  { rules: _rules, book, keys }: LimitPlaces,
  domain: Domain,
  above: readonly Entry[],
  caller: Caller,
): readonly FoundLimit[] {
  const entry: Entry = { key: caller.key, value: caller.value ?? '' }
  let node: RuleNode | undefined = domain.root
  for (const each of [...above, entry]) node = node && stepInto(node, each)
  if (node === undefined) return []
  const { account } = caller
  const lookup: AccountLookup = (name, each) => (each === entry ? account : book?.accounts?.(name, each))
  const set = tierOf(domain, node, account?.tier, book?.tiers)
  const found: FoundLimit[] = []
  for (const below of belowOf(node, set, account)) {
    const entries = [...above, entry, ...below]
    const explained = explain(domain, entries, undefined, lookup, book?.tiers)
    explained.rules.forEach((rule, i) => {
      if (rule.unlimited || rule.path.length !== entries.length) return
      const { limit } = rule
      const source = sourceOf(explained.sources[i], book)
      const key = caller.value === undefined ? undefined : keys.encode(domain.name, rule, entries)
      found.push({
        ...{ domain: domain.name, descriptor: descriptorOf(below), rule, limit, source },
        ...{ caller, callerAt: above.length, key },
      })
    })
  }
  return found
}

/** belowOf lists what may stand below a caller's entry: values that rules, the tier, overrides and grants name. */
function belowOf(node: RuleNode, set: RuleNode | undefined, account: Caller['account']): readonly (readonly Entry[])[] {
  const byText = new Map<string, readonly Entry[]>([['', []]])
  const walk = (from: RuleNode, above: readonly Entry[]): void => {
    for (const [key, { exact }] of from.branches) {
      for (const [value, next] of exact) {
        if (byText.size >= MAX_PATTERNS) return
        const entries = [...above, { key, value }]
        byText.set(pathText(entries), entries)
        walk(next, entries)
      }
    }
  }
  walk(node, [])
  if (set !== undefined) walk(set, [])
  for (const path of pathsOf(account)) byText.set(path, entriesIn(path))
  return [...byText.values()]
}

function pathsOf(account: Caller['account']): readonly string[] {
  if (account === undefined) return []
  const customer = customerOf(account)
  return [...(account.overrides ?? []), ...(customer?.overrides ?? []), ...(customer?.grants ?? [])].map(
    ({ path }) => path,
  )
}

/** customerOf is the customer behind an account. */
export function customerOf(account: Account | undefined): CustomerRecord | undefined {
  if (account instanceof KeyRecord) return account.customer?.isKnown ? account.customer : undefined
  return account instanceof CustomerRecord ? account : undefined
}

/** sourceOf names the record that a number comes from. */
export function sourceOf(note: RuleSourceNote, book: QuotaBook | undefined): LimitSource {
  if (note.kind === 'tier') return { kind: 'tier', id: note.name }
  if (note.kind === 'rule') return { kind: 'rule', id: undefined }
  const kind = book?.ownerOf(note.id) instanceof KeyRecord ? 'key_override' : 'customer_override'
  return { kind, id: note.id }
}

export function pathText(entries: readonly Entry[]): string {
  return entries.map(({ key, value }) => `${key}=${value}`).join('/')
}

/** descriptorOf spells what stands below a caller as overrides do. */
export function descriptorOf(below: readonly Entry[]): string {
  if (below.length === 0) return 'default'
  return below.length === 1 ? `${below[0].key}:${below[0].value}` : pathText(below)
}

/** entriesIn reads a path of several levels: a slash before `key=` begins a level, any other is part of a value. */
function entriesIn(path: string): readonly Entry[] {
  if (path === '') return []
  return path.split(/\/(?=[^/=]+=)/).map((level) => {
    const at = level.indexOf('=')
    return { key: level.slice(0, at), value: level.slice(at + 1) }
  })
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
