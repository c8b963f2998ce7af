import type { Entry } from 'sluice/internal/core/request'
import { stepInto, tierOf } from 'sluice/internal/core/rules/match'
import type { Domain, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { KeyRecord } from '../../quotas/book/records.ts'
import { type Caller, customerOf } from './callers.ts'
import { entriesIn, OPEN, type PatternEntry, pathText } from './entry-paths.ts'

/** A Way is a descriptor that may lead to limits of a caller. */
export interface Way {
  readonly caller: Caller
  readonly domain: Domain
  readonly above: readonly PatternEntry[]
  readonly below: readonly PatternEntry[]
}

/** A MetCounter is a counter of a caller that some node remembers. */
export interface MetCounter {
  readonly domain: string
  /** Undefined: of the customer itself. */
  readonly keyId: string | undefined
  /** The key of the caller's entry. */
  readonly key: string
  readonly above: readonly Entry[]
  readonly below: readonly Entry[]
  /** What a node that was asked about it saw last: of one that is nearly used up. */
  readonly use?: LastUse
}

export interface LastUse {
  readonly ruleId: string
  readonly limit: number
  readonly remaining: number
  readonly resetAtMs: number
}

/** How many patterns are looked at above a caller's entry, and as many below: rules may have tens of thousands. */
const MAX_PATTERNS = 2_000

/** A Spot is a place in the rules where the entry of a caller leads to, by what stands before it. */
interface Spot {
  readonly domain: Domain
  readonly above: readonly PatternEntry[]
  readonly below: ReadonlyMap<string, readonly PatternEntry[]>
}

/**
 * CallerWays finds the descriptors that may lead to limits of callers: by exact values that rules, tiers, overrides and
 * grants name, by values that nodes remember, and by patterns, which stand for values that are not known.
 */
export class CallerWays {
  readonly #rules: RuleSet
  readonly #book: QuotaBook | undefined
  readonly #hasPatterns: boolean
  /** What stands below a pattern and the set of a tier: the same for all callers. */
  readonly #below = new Map<RuleNode, Map<RuleNode | undefined, ReadonlyMap<string, readonly PatternEntry[]>>>()

  constructor(rules: RuleSet, book: QuotaBook | undefined, hasPatterns: boolean) {
    this.#rules = rules
    this.#book = book
    this.#hasPatterns = hasPatterns
  }

  /** Yields the ways of a caller: first the rules' in their order, then others that were met. */
  *of(caller: Caller, met: MetByCaller): Generator<Way & { readonly isMet: boolean }> {
    const left = new Map(met.get(callerName(caller.key, keyIdOf(caller)))?.map((each) => [nameOf(each), each]))
    for (const { domain, above, below } of this.#spotsOf(caller)) {
      for (const entries of below.values()) {
        const isMet = left.delete(nameOf({ domain: domain.name, above, below: entries }))
        yield { caller, domain, above, below: entries, isMet }
      }
    }
    for (const [, { domain: name, above, below }] of [...left].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const domain = this.#rules.domains.get(name)
      if (domain !== undefined) yield { caller, domain, above, below, isMet: true }
    }
  }

  *#spotsOf(caller: Caller): Generator<Spot> {
    const { account } = caller
    for (const domain of this.#rules.domains.values()) {
      for (const above of this.#placesOf(domain, caller.key)) {
        const node = stepThrough(domain.root, [...above, { key: caller.key, value: caller.value ?? '' }])
        if (node === undefined) continue
        const known = this.#belowOf(node, tierOf(domain, node, account?.tier, this.#book?.tiers))
        const own = ownPaths(account).filter((path) => !known.has(path))
        yield { domain, above, below: own.length === 0 ? known : new Map([...known, ...own.map(withEntries)]) }
      }
    }
  }

  /** #placesOf lists what stands before entries of a key. */
  *#placesOf(domain: Domain, key: string): Generator<readonly PatternEntry[]> {
    const waiting: { node: RuleNode; above: readonly PatternEntry[] }[] = [{ node: domain.root, above: [] }]
    for (let at = 0; at < waiting.length && at < MAX_PATTERNS; at++) {
      const { node, above } = waiting[at]
      if (node.branches.has(key)) yield above
      if (waiting.length > MAX_PATTERNS) continue
      for (const [entry, next] of this.#stepsFrom(node)) {
        if (entry.key !== key) waiting.push({ node: next, above: [...above, entry] })
      }
    }
  }

  #belowOf(node: RuleNode, set: RuleNode | undefined): ReadonlyMap<string, readonly PatternEntry[]> {
    const bySet = this.#below.get(node) ?? new Map<RuleNode | undefined, ReadonlyMap<string, readonly PatternEntry[]>>()
    this.#below.set(node, bySet)
    const known = bySet.get(set)
    if (known !== undefined) return known
    const found = new Map<string, readonly PatternEntry[]>([['', []]])
    const walk = (from: RuleNode, above: readonly PatternEntry[]): void => {
      for (const [entry, next] of this.#stepsFrom(from)) {
        if (found.size >= MAX_PATTERNS) return
        const entries = [...above, entry]
        found.set(pathText(entries), entries)
        walk(next, entries)
      }
    }
    walk(node, [])
    if (set !== undefined) walk(set, [])
    bySet.set(set, found)
    return found
  }

  *#stepsFrom(node: RuleNode): Generator<readonly [entry: PatternEntry, next: RuleNode]> {
    for (const [key, { exact, blocks, wildcards, any }] of node.branches) {
      for (const [value, next] of exact) yield [{ key, value }, next]
      if (!this.#hasPatterns) continue
      for (const next of new Set([...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])])) {
        yield [patternOf(key, next), next]
      }
      if (any !== undefined) yield [{ key, value: OPEN, pattern: '' }, any]
    }
  }
}

/** patternOf makes an entry that matches the wildcards or address blocks of a node. */
function patternOf(key: string, { path }: RuleNode): PatternEntry {
  const step = path.at(-1)
  const pattern = step?.wildcard ?? step?.sharedAs ?? ''
  const [first = ''] = pattern.split(',')
  return { key, value: first.includes('*') ? first.replaceAll('*', OPEN) : first.replace(/\/.*/, ''), pattern }
}

function stepThrough(root: RuleNode, entries: readonly Entry[]): RuleNode | undefined {
  let node: RuleNode | undefined = root
  for (const each of entries) node = node && stepInto(node, each)
  return node
}

/** MetByCaller are the counters that were met, by whose they are. */
export type MetByCaller = ReadonlyMap<string, readonly MetCounter[]>

export function metByCaller(met: readonly MetCounter[]): MetByCaller {
  const byCaller = new Map<string, MetCounter[]>()
  for (const each of met) {
    const name = callerName(each.key, each.keyId)
    const known = byCaller.get(name)
    if (known === undefined) byCaller.set(name, [each])
    else known.push(each)
  }
  return byCaller
}

const callerName = (key: string, keyId: string | undefined): string => `${key} ${keyId ?? ''}`

const keyIdOf = ({ account }: Caller): string | undefined => (account instanceof KeyRecord ? account.id : undefined)

function nameOf({
  domain,
  above,
  below,
}: {
  domain: string
  above: readonly Entry[]
  below: readonly Entry[]
}): string {
  return JSON.stringify([domain, pathText(above), pathText(below)])
}

/** ownPaths lists what stands below a caller's entry where the caller has overrides or grants. */
function ownPaths(account: Caller['account']): readonly string[] {
  if (account === undefined) return []
  const customer = customerOf(account)
  return [...(account.overrides ?? []), ...(customer?.overrides ?? []), ...(customer?.grants ?? [])].map(
    ({ path }) => path,
  )
}

const withEntries = (path: string): [string, readonly PatternEntry[]] => [path, entriesIn(path)]
