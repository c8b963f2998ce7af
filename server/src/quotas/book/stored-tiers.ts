import { compileTier } from 'sluice/internal/core/rules/compile-tier'
import type { TierLookup } from 'sluice/internal/core/rules/match'
import { RulesError } from 'sluice/internal/core/rules/problems'
import type { Domain, RuleNode } from 'sluice/internal/core/rules/rule-set'
import { tierId } from '../../admin/tiers/table.ts'
import type { StoredTier } from '../model.ts'
import type { PassOver } from './passed-over.ts'

/** The tiers of the database, compiled for each tiered pattern that a request comes to, once. */
export class StoredTiers {
  readonly #tiers = new Map<string, StoredTier>()
  /** By pattern: patterns go with their set of rules, and what was compiled for them too. */
  #compiled = new WeakMap<RuleNode, Map<string, RuleNode | undefined>>()
  readonly #passOver: PassOver | undefined

  constructor(passOver?: PassOver) {
    this.#passOver = passOver
  }

  get isEmpty(): boolean {
    return this.#tiers.size === 0
  }

  put(id: string, tier: StoredTier | undefined): void {
    if (tier === undefined) this.#tiers.delete(id)
    else this.#tiers.set(id, tier)
    this.#compiled = new WeakMap()
  }

  has(domain: string, name: string): boolean {
    return this.#tiers.has(tierId({ domain, name }))
  }

  all(): Iterable<StoredTier> {
    return this.#tiers.values()
  }

  /** Returns the tiers of a domain. */
  list(domain: string): readonly StoredTier[] {
    return [...this.#tiers.values()].filter((tier) => tier.domain === domain)
  }

  /** Looks up a tier. A tier that is wrong is passed over: what the rules say stands. */
  readonly find: TierLookup = (domain, tiered, name) => {
    let byName = this.#compiled.get(tiered)
    if (byName === undefined) {
      byName = new Map()
      this.#compiled.set(tiered, byName)
    }
    const known = byName.get(name)
    if (known !== undefined || byName.has(name)) return known
    const tier = this.#tiers.get(tierId({ domain: domain.name, name }))
    // Names that no tier has are not kept: requests may bring any.
    if (tier === undefined) return undefined
    const node = this.#node(domain, tiered, tier)
    byName.set(name, node)
    return node
  }

  #node(domain: Domain, tiered: RuleNode, tier: StoredTier): RuleNode | undefined {
    try {
      return compileTier(domain, tiered, { name: tier.name, limits: tier.limits, where: `tiers.${tier.name}` })
    } catch (error) {
      if (!(error instanceof RulesError)) throw error
      this.#passOver?.('tiers', tierId(tier), error.message)
      return undefined
    }
  }
}
