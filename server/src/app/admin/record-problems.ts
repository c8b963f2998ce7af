import { SluiceError } from 'sluice/internal/core/errors'
import { compileLimit, type Limit } from 'sluice/internal/core/limit'
import { compileTier } from 'sluice/internal/core/rules/compile-tier'
import { RulesError } from 'sluice/internal/core/rules/problems'
import type { Branch, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'
import { limitOptions } from '../../quotas/book/override-record.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import type { Override, StoredTier } from '../../quotas/model.ts'
import type { RecordProblems } from '../../quotas/ports.ts'

export interface RecordCheckParts {
  readonly rules: () => RuleSet
  readonly book: () => QuotaBook | undefined
}

interface TieredPattern {
  readonly domain: string
  readonly node: RuleNode
}

/** RecordCheck compiles records as decisions do, by the rules in force, to say why some have no effect. */
export class RecordCheck implements RecordProblems {
  readonly #parts: RecordCheckParts
  /** By set of rules: lists ask for every record. */
  readonly #tiered = new WeakMap<RuleSet, readonly TieredPattern[]>()

  constructor(parts: RecordCheckParts) {
    this.#parts = parts
  }

  ofTier({ domain: name, name: tier, limits }: StoredTier): string | undefined {
    const domain = this.#parts.rules().domains.get(name)
    if (domain === undefined) return `no rules define the domain ${JSON.stringify(name)}`
    const patterns = this.#patterns().filter((each) => each.domain === name)
    if (patterns.length === 0) return `no rule of the domain ${JSON.stringify(name)} is tiered`
    for (const { node } of patterns) {
      const problem = problemOf(() => compileTier(domain, node, { name: tier, limits, where: `tiers.${tier}` }))
      if (problem !== undefined) return problem
    }
    return undefined
  }

  ofOverride({ requestsPerUnit, unit, algorithm, burst, subject }: Override): string | undefined {
    const numbers = { requestsPerUnit, unit, algorithm, burst }
    const zone = this.#zoneOf(subject)
    // Where an override says nothing, it counts as what it stands in for.
    const limits = new Set<Limit | undefined>([undefined])
    for (const { node } of this.#patterns()) for (const rule of node.rules) limits.add(rule.limit)
    for (const instead of limits) {
      const problem = problemOf(() => compileLimit(limitOptions(numbers, instead, zone), 'override'))
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #zoneOf(subject: Override['subject']): string {
    const book = this.#parts.book()
    const customer = subject.kind === 'key' ? book?.key(subject.keyId)?.customer : book?.customer(subject.customerId)
    return customer?.timeZone ?? 'UTC'
  }

  #patterns(): readonly TieredPattern[] {
    const rules = this.#parts.rules()
    let known = this.#tiered.get(rules)
    if (known === undefined) {
      known = [...rules.domains.values()].flatMap(({ name, root }) => [...tieredBelow(root, name)])
      this.#tiered.set(rules, known)
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

function* tieredBelow(node: RuleNode, domain: string): Generator<TieredPattern> {
  if (node.tiers !== undefined) yield { domain, node }
  for (const branch of node.branches.values()) for (const next of nodesOf(branch)) yield* tieredBelow(next, domain)
}

function nodesOf({ exact, blocks, wildcards, any }: Branch): ReadonlySet<RuleNode> {
  const nodes = new Set([...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])])
  return any === undefined ? nodes : nodes.add(any)
}
