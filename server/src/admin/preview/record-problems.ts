import { SluiceError } from 'sluice/internal/core/errors'
import { compileLimit, type Limit } from 'sluice/internal/core/limit'
import { compileTier } from 'sluice/internal/core/rules/compile-tier'
import { RulesError } from 'sluice/internal/core/rules/problems'
import type { Branch, Domain, Rule, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'
import { rulesBelow } from '../../observe/metrics/rules-of.ts'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import { limitOptions, OverrideRecord } from '../../quotas/book/override-record.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import type { Override, StoredTier } from '../../quotas/model.ts'
import type { RecordProblems } from '../api/parts.ts'

export interface RecordCheckParts {
  readonly rules: () => RuleSet
  readonly book: () => QuotaBook | undefined
  readonly entries: CallerEntries
}

/** A CallerPattern is one where quotas begin: an entry that says who is calling leads to it, or it is `tiered: true`. */
interface CallerPattern {
  readonly domain: string
  readonly node: RuleNode
}

/** RecordCheck compiles records as decisions do, by the rules in force, to say why some have no effect. */
export class RecordCheck implements RecordProblems {
  readonly #parts: RecordCheckParts
  /** By set of rules: lists ask for every record. */
  readonly #known = new WeakMap<RuleSet, readonly CallerPattern[]>()

  constructor(parts: RecordCheckParts) {
    this.#parts = parts
  }

  ofTier({ domain: name, name: tier, limits }: StoredTier): string | undefined {
    const domain = this.#parts.rules().domains.get(name)
    if (domain === undefined) return `no rules define the domain ${JSON.stringify(name)}`
    const patterns = this.#patterns().filter((each) => each.domain === name)
    if (patterns.length === 0) {
      return `no rule of the domain ${JSON.stringify(name)} is reached by an API key or a customer`
    }
    for (const { node } of patterns) {
      const problem = problemOf(() => compileTier(domain, node, { name: tier, limits, where: `tiers.${tier}` }))
      if (problem !== undefined) return problem
    }
    return undefined
  }

  ofOverride(override: Override): string | undefined {
    const { requestsPerUnit, unit, algorithm, burst, subject } = override
    const unknown = this.ofScope(override)
    if (unknown !== undefined) return unknown
    const record = new OverrideRecord(override)
    const numbers = { requestsPerUnit, unit, algorithm, burst }
    const zone = this.#zoneOf(subject)
    // Where an override says nothing, it counts as what it stands in for.
    const limits = new Set<Limit | undefined>([undefined])
    for (const { domain, node } of this.#patterns())
      for (const rule of node.rules) if (record.isFor(domain, rule)) limits.add(rule.limit)
    for (const instead of limits) {
      const problem = problemOf(() => compileLimit(limitOptions(numbers, instead, zone), 'override'))
      if (problem !== undefined) return problem
    }
    return undefined
  }

  ofScope({ domain: name, rule }: Pick<Override, 'domain' | 'rule'>): string | undefined {
    if (name === undefined) return undefined
    const domain = this.#parts.rules().domains.get(name)
    if (domain === undefined) return `no rules define the domain ${JSON.stringify(name)}`
    if (rule === undefined || this.#hasRule(domain, rule)) return undefined
    return `the domain ${JSON.stringify(name)} has no rule with the id or name ${JSON.stringify(rule)}`
  }

  #hasRule(domain: Domain, rule: string): boolean {
    const isNamed = ({ id, name }: Rule): boolean => id === rule || name === rule
    for (const each of rulesBelow(domain.root, domain.name, undefined)) if (isNamed(each.rule)) return true
    const patterns = this.#patterns().filter((each) => each.domain === domain.name)
    for (const { name: tier, limits } of this.#parts.book()?.storedTiers(domain.name) ?? []) {
      for (const { node } of patterns) {
        const set = compiledTier(domain, node, { name: tier, limits, where: 'tiers' })
        if (set === undefined) continue
        if (set.rules.some(isNamed)) return true
        for (const each of rulesBelow(set, domain.name, tier)) if (isNamed(each.rule)) return true
      }
    }
    return false
  }

  #zoneOf(subject: Override['subject']): string {
    const book = this.#parts.book()
    const customer = subject.kind === 'key' ? book?.key(subject.keyId)?.customer : book?.customer(subject.customerId)
    return customer?.timeZone ?? 'UTC'
  }

  #patterns(): readonly CallerPattern[] {
    const rules = this.#parts.rules()
    let known = this.#known.get(rules)
    if (known === undefined) {
      const { keys, customers } = this.#parts.entries
      const callers = new Set([...keys, ...customers])
      known = [...rules.domains.values()].flatMap(({ name, root }) => [...patternsBelow(root, name, callers)])
      this.#known.set(rules, known)
    }
    return known
  }
}

function problemOf(compile: () => unknown): string | undefined {
  try {
    compile()
    return undefined
  } catch (error) {
    if (!(error instanceof RulesError) && !(error instanceof SluiceError)) throw error
    return error.message
  }
}

function compiledTier(...given: Parameters<typeof compileTier>): RuleNode | undefined {
  try {
    return compileTier(...given)
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    return undefined
  }
}

function* patternsBelow(node: RuleNode, domain: string, callers: ReadonlySet<string>): Generator<CallerPattern> {
  for (const [key, branch] of node.branches) {
    for (const next of nodesOf(branch)) {
      if (next.tiers !== undefined || (callers.has(key) && !next.isFixed)) yield { domain, node: next }
      yield* patternsBelow(next, domain, callers)
    }
  }
}

function nodesOf({ exact, blocks, wildcards, any }: Branch): ReadonlySet<RuleNode> {
  const nodes = new Set([...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])])
  return any === undefined ? nodes : nodes.add(any)
}
