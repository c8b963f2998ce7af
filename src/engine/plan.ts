import { got, SluiceError } from '../core/errors.ts'
import type { KeySpeller } from '../core/key-speller.ts'
import { compileLimit, MAX_COST, MAX_COUNT } from '../core/limit.ts'
import { Lru } from '../core/lru.ts'
import type { CheckRequest, Descriptor, Entry, LimitOverride } from '../core/request.ts'
import { DEFAULTS, UNIT_MS } from '../core/rules/compile-rule.ts'
import { type AccountLookup, match, stepWithoutPattern } from '../core/rules/match.ts'
import type { Domain, Rule, RuleSet } from '../core/rules/rule-set.ts'
import { freeCharge, type PlannedCharge } from './charge.ts'

const TIER_KEY = 'tier'
const MAX_OVERRIDES = 10_000

/** OVERRIDE_ID is the id of every rule that a request brought along. No pattern has it, unless its key is spelled so. */
export const OVERRIDE_ID = '/override'

/** Planner turns requests into charges: which rules apply, on which counters, at what cost. */
export class Planner {
  readonly #keys: KeySpeller
  readonly #accounts: AccountLookup | undefined
  readonly #isShadow: boolean
  readonly #overrides = new Lru<string, Rule>(MAX_OVERRIDES)

  /** With `shadow` no charge stops another, whatever its rule says. */
  constructor(keys: KeySpeller, options: { readonly accounts?: AccountLookup; readonly shadow?: boolean } = {}) {
    this.#keys = keys
    this.#accounts = options.accounts
    this.#isShadow = options.shadow ?? false
  }

  plan(rules: RuleSet, request: CheckRequest): readonly PlannedCharge[] {
    const charges: PlannedCharge[] = []
    const cost = checkCost(request.cost ?? 1)
    const domain = rules.domains.get(request.domain)
    if (domain === undefined) return charges
    for (let i = 0; i < request.descriptors.length; i++)
      this.#planDescriptor(domain, request.descriptors[i], i, cost, charges)
    return withoutReplaced(charges)
  }

  #planDescriptor(domain: Domain, descriptor: Descriptor, at: number, cost: number, charges: PlannedCharge[]): void {
    const tier = domain.hasTiers ? descriptor.entries.find(({ key }) => key === TIER_KEY)?.value : undefined
    const entries = tier === undefined ? descriptor.entries : descriptor.entries.filter(({ key }) => key !== TIER_KEY)
    const own = descriptor.cost === undefined ? cost : checkCost(descriptor.cost)
    const rules =
      descriptor.limit === undefined
        ? match(domain, entries, tier, this.#accounts)
        : [this.#override(domain, descriptor.limit, entries)]
    for (const rule of rules) {
      const key = this.#keys.spell(domain.name, rule, entries)
      const weight = rule.cost === 1 ? 1 : weightOf(rule, descriptor.entries)
      const weighed = weight === 1 ? own : clamp(own * weight)
      const charge: PlannedCharge = {
        key,
        limit: rule.limit,
        cost: weighed,
        enforce: !rule.shadow && !this.#isShadow,
        quota: rule.quota,
        policy: rule,
        rule,
        domain: domain.name,
        entries,
        descriptor: at,
        weight,
      }
      charges.push(weighed === 0 && own !== 0 ? freeCharge(charge) : charge)
    }
  }

  /** #override makes a rule of a limit that a request brought along. Those are few, and kept. */
  #override(domain: Domain, override: LimitOverride, entries: readonly Entry[]): Rule {
    const { requestsPerUnit, unit, unitMultiplier = 1 } = override
    const path = entries.map((entry) => stepWithoutPattern(domain, entry))
    const id = `${requestsPerUnit}/${unitMultiplier} ${unit}/${path.map(({ secret }) => Number(secret)).join('')}`
    const known = this.#overrides.get(id)
    if (known !== undefined) return known
    const unitMs: number | undefined = UNIT_MS[unit]
    const window = unitMs === undefined ? undefined : unitMultiplier * unitMs
    const limit = compileLimit({ limit: requestsPerUnit, ...(window !== undefined && { window }) }, 'limit')
    const rule = Object.freeze({ ...DEFAULTS, id: OVERRIDE_ID, name: 'override', limit, path })
    this.#overrides.set(id, rule)
    return rule
  }
}

function checkCost(cost: number): number {
  if (!Number.isInteger(cost) || cost > MAX_COST || cost < -MAX_COUNT)
    throw new SluiceError('COST_INVALID', 'cost', got(cost))
  return cost
}

/** clamp keeps what is too much too much: nothing is cut down to what a limit admits. */
function clamp(cost: number): number {
  return Math.max(-MAX_COUNT, Math.min(MAX_COST, cost))
}

function weightOf({ cost }: Rule, entries: readonly Entry[]): number {
  if (typeof cost === 'number') return cost
  const entry = entries.find(({ key }) => key === cost.by)
  return (entry && cost.weights.get(entry.value)) ?? cost.otherwise
}

/** withoutReplaced drops every rule that another rule of the same request replaces. */
function withoutReplaced(charges: readonly PlannedCharge[]): readonly PlannedCharge[] {
  if (charges.every(({ rule }) => rule.replaces.length === 0)) return charges
  const replaced = new Set(charges.flatMap(({ rule }) => rule.replaces))
  return charges.filter(({ rule }) => !replaced.has(rule.name))
}
