import type { Verdict } from '../core/decision.ts'
import { got, SluiceError } from '../core/errors.ts'
import type { KeyEncoder } from '../core/key-encoder.ts'
import { compileLimit, MAX_COUNT, TOO_MUCH } from '../core/limit.ts'
import { Lru } from '../core/lru.ts'
import type { CheckRequest, Descriptor, Entry, LimitOverride } from '../core/request.ts'
import { isApart } from '../core/rules/caller-walk.ts'
import { UNIT_MS } from '../core/rules/compile-rule.ts'
import { type AccountLookup, match, stepInto, stepWithoutPattern } from '../core/rules/match.ts'
import { DEFAULTS } from '../core/rules/rule-defaults.ts'
import type { Domain, Rule, RuleNode, RuleSet } from '../core/rules/rule-set.ts'
import { freeCharge, type PlannedCharge } from './charge.ts'
import type { Observer } from './observer.ts'
import {
  blockedCharge,
  GRANT_DOMAIN,
  type GrantLookup,
  grantEntries,
  grantRule,
  type KnownGrant,
  type Quotas,
  type SwitchLookup,
  switchedRule,
} from './quotas.ts'

const TIER_KEY = 'tier'
const MAX_OVERRIDES = 10_000

/** The id of every rule that a request brings. No pattern has it, unless its key is the same text. */
export const OVERRIDE_ID = '/override'

/** How limits are counted that requests bring along. */
export interface OverrideOptions {
  /** What such a limit does not say. */
  readonly limit: Pick<Parameters<typeof compileLimit>[0], 'algorithm' | 'countDenied'>
  /** On the counter of the rule that it stands in for, where algorithm and window are the same. */
  readonly sharesCounters: boolean
}

export interface PlannerOptions {
  readonly accounts?: AccountLookup
  /** What is set for callers in addition to the rules. Read once per request. */
  readonly quotas?: () => Quotas
  /** No charge stops another, whatever its rule says. */
  readonly shadow?: boolean
  /** Every rule is charged independently. Not together with permits: those are taken only when everything fits. */
  readonly apart?: boolean
  /**
   * A limit in quota mode that is exhausted keeps the others of the request from counting, as any other limit does.
   * Whether the request passes, is decided as ever: one limit in quota mode that admits is enough. Default: false.
   */
  readonly quotasBind?: boolean
  /** Default: like a rule with default options, on separate counters. */
  readonly overrides?: OverrideOptions
  /** Receives descriptors that no rule matches. */
  readonly observer?: Pick<Observer, 'unmatched'>
}

const NO_QUOTAS: Quotas = {
  accounts: undefined,
  tiers: undefined,
  blocks: undefined,
  grants: undefined,
  switches: undefined,
}

const OWN_COUNTERS: OverrideOptions = { limit: {}, sharesCounters: false }

/** Turns requests into charges: which rules apply, on which counters, at what cost. */
export class Planner {
  readonly #keys: KeyEncoder
  readonly #quotas: () => Quotas
  readonly #isShadow: boolean
  readonly #observer: Pick<Observer, 'unmatched'> | undefined
  readonly #isApart: boolean
  readonly #quotasBind: boolean
  readonly #overrideOptions: OverrideOptions
  readonly #overrides = new Lru<string, Rule>(MAX_OVERRIDES)

  constructor(keys: KeyEncoder, options: PlannerOptions = {}) {
    this.#keys = keys
    const only: Quotas = { ...NO_QUOTAS, accounts: options.accounts }
    this.#quotas = options.quotas ?? (() => only)
    this.#isShadow = options.shadow ?? false
    this.#observer = options.observer
    this.#isApart = options.apart ?? false
    this.#quotasBind = options.quotasBind ?? false
    this.#overrideOptions = options.overrides ?? OWN_COUNTERS
  }

  /**
   * Returns what a request charges. `isLate` plans what has happened already, or is to be forgotten: blocks do not
   * matter.
   */
  plan(rules: RuleSet, request: CheckRequest, isLate = false): readonly PlannedCharge[] {
    const charges: PlannedCharge[] = []
    const cost = checkCost(request.cost ?? 1)
    const quotas = this.#quotas()
    if (quotas.blocks !== undefined && !isLate) {
      const blocked = quotas.blocks(request)
      if (blocked !== undefined) return [blockedCharge(blocked, request)]
    }
    const domain = rules.domains.get(request.domain)
    if (domain === undefined) {
      this.#observer?.unmatched?.(request.domain, request.descriptors[0]?.entries ?? [], false)
      return charges
    }
    for (let i = 0; i < request.descriptors.length; i++)
      this.#planDescriptor(domain, request.descriptors[i], i, cost, charges, quotas)
    const planned = withoutReplaced(charges)
    if (this.#isApart && !planned.some(({ limit }) => limit.algorithmRecord.holdsPermits))
      return withoutForce(planned, () => true)
    return planned.length > 1 ? withoutHelplessQuotas(planned) : planned
  }

  #planDescriptor(
    domain: Domain,
    descriptor: Descriptor,
    at: number,
    cost: number,
    charges: PlannedCharge[],
    quotas: Quotas,
  ): void {
    const tier = domain.hasTiers ? descriptor.entries.find(({ key }) => key === TIER_KEY)?.value : undefined
    const entries = tier === undefined ? descriptor.entries : descriptor.entries.filter(({ key }) => key !== TIER_KEY)
    const own = descriptor.cost === undefined ? cost : checkCost(descriptor.cost)
    const found =
      descriptor.limit === undefined
        ? match(domain, entries, tier, quotas.accounts, quotas.tiers)
        : [this.#override(domain, descriptor.limit, entries)]
    const rules = quotas.switches === undefined ? found : switchedRules(domain.name, found, quotas.switches)
    if (found.length === 0) this.#observer?.unmatched?.(domain.name, entries, true)
    for (const rule of rules) {
      const key = this.#keys.encode(domain.name, rule, entries)
      const weight = rule.cost === 1 ? 1 : weightOf(rule, descriptor.entries)
      const weighed = weight === 1 ? own : clamp(own * weight)
      const charge: PlannedCharge = {
        key,
        limit: rule.limit,
        cost: weighed,
        enforce: !rule.shadow && !this.#isShadow,
        quota: rule.quota && !this.#quotasBind,
        policy: rule,
        rule,
        domain: domain.name,
        entries,
        descriptor: at,
        weight,
      }
      const known = domain.evaluatePath && descriptor.limit === undefined ? indexOfCounter(charges, key) : -1
      if (known < 0) charges.push(weighed === 0 && own !== 0 ? freeCharge(charge) : charge)
      else if (Math.abs(weighed) > Math.abs(charges[known].cost)) charges[known] = charge
    }
    if (descriptor.limit !== undefined && this.#overrideOptions.sharesCounters && rules.length > 0) {
      charges.push(this.#onCounterOfRule(charges.pop() as PlannedCharge, domain, tier, quotas))
    }
  }

  /**
   * Returns how else a refused request could be charged: each charge that was refused, on a grant of the caller
   * instead. It returns one list of charges for each attempt, none where a charge that refused has no grant.
   */
  withGrants(
    rules: RuleSet,
    charges: readonly PlannedCharge[],
    verdicts: readonly Verdict[],
  ): readonly (readonly PlannedCharge[])[] {
    const { grants } = this.#quotas()
    if (grants === undefined) return []
    const found = charges.map((charge, i) =>
      isAskedAgain(charge, verdicts[i]) ? grantsOf(rules, charge, grants) : undefined,
    )
    const most = Math.min(MAX_GRANTS, Math.max(0, ...found.map((each) => each?.length ?? 0)))
    if (most === 0 || found.some((each) => each?.length === 0)) return []
    return Array.from({ length: most }, (_, attempt) =>
      charges.map((charge, i) => {
        const own = found[i]
        return own === undefined
          ? charge
          : this.#grantCharge(charge, own[Math.min(attempt, own.length - 1)], verdicts[i])
      }),
    )
  }

  #grantCharge(charge: PlannedCharge, grant: KnownGrant, refused: Verdict): PlannedCharge {
    const rule = grantRule(charge.rule, grant)
    const entries = grantEntries(grant)
    const key = this.#keys.encode(GRANT_DOMAIN, rule, entries)
    return { ...charge, key, limit: rule.limit, policy: rule, rule, quota: false, grant: { id: grant.id, refused } }
  }

  /** Has an override count on the counter of the rule that it stands in for, if there is one. */
  #onCounterOfRule(charge: PlannedCharge, domain: Domain, tier: string | undefined, quotas: Quotas): PlannedCharge {
    const { entries, limit } = charge
    const rule = match(domain, entries, tier, quotas.accounts, quotas.tiers).find(
      (each) =>
        !each.unlimited &&
        each.limit.shape === limit.shape &&
        each.path.length === entries.length &&
        each.path.every(({ sharedAs }) => sharedAs === undefined),
    )
    return rule === undefined ? charge : { ...charge, key: this.#keys.encode(domain.name, rule, entries) }
  }

  /** Makes a rule of a limit that a request brought along. Those are few, and kept. */
  #override(domain: Domain, override: LimitOverride, entries: readonly Entry[]): Rule {
    const { requestsPerUnit, unit, unitMultiplier = 1 } = override
    const path = entries.map((entry) => stepWithoutPattern(domain, entry))
    const id = `${requestsPerUnit}/${unitMultiplier} ${unit}/${path.map(({ secret }) => Number(secret)).join('')}`
    const known = this.#overrides.get(id)
    if (known !== undefined) return known
    const unitMs: number | undefined = UNIT_MS[unit]
    const window = unitMs === undefined ? undefined : unitMultiplier * unitMs
    const own = { limit: requestsPerUnit, ...(window !== undefined && { window }) }
    const limit = compileLimit({ ...this.#overrideOptions.limit, ...own }, 'limit')
    const rule = Object.freeze({ ...DEFAULTS, id: OVERRIDE_ID, name: 'override', limit, path })
    this.#overrides.set(id, rule)
    return rule
  }
}

/**
 * Finds a counter that an earlier descriptor of the request already charges: several descriptors pass the same rule on
 * their way down, and that rule counts the request once, at the highest cost among them.
 */
function indexOfCounter(charges: readonly PlannedCharge[], key: string): number {
  for (let i = 0; i < charges.length; i++) if (charges[i].key === key) return i
  return -1
}

/** The most grants that one request tries: each is a question to the store. */
const MAX_GRANTS = 8

/** Returns whether a charge is one that the request was refused for. */
function isAskedAgain({ enforce, cost, rule }: PlannedCharge, verdict: Verdict): boolean {
  return enforce && cost > 0 && !rule.unlimited && !verdict.allowed && verdict.fallback === undefined
}

/** Finds the grants for a charge: the grants of the nearest caller that has any. */
export function grantsOf(
  rules: RuleSet,
  { domain, entries, rule }: Pick<PlannedCharge, 'domain' | 'entries' | 'rule'>,
  grants: GrantLookup,
): readonly KnownGrant[] {
  const depth = rule.path.length
  let node: RuleNode | undefined = rules.domains.get(domain)?.root
  let isFixed = false
  let isTiered = false
  for (let i = 0; i < depth && node !== undefined; i++) {
    node = stepInto(node, entries[i])
    isFixed = node?.isFixed ?? isFixed
    isTiered ||= node?.tiers !== undefined
  }
  if (isFixed) return NO_GRANTS
  for (let i = depth - 1; i >= 0; i--) {
    const below = entries.slice(i + 1, depth).map(({ key, value }) => `${key}=${value}`)
    const isLeftAlone = below.length === 0 && !isTiered && isApart(rule)
    const found = grants(entries[i], below.join('/'), domain, rule).filter(({ namesRule }) => namesRule || !isLeftAlone)
    if (found.length > 0) return found
  }
  return NO_GRANTS
}

const NO_GRANTS: readonly KnownGrant[] = Object.freeze([])

/** Returns rules in the modes that they are switched to, without rules that are off. */
function switchedRules(domain: string, rules: readonly Rule[], switches: SwitchLookup): readonly Rule[] {
  let changed: Rule[] | undefined
  for (let i = 0; i < rules.length; i++) {
    const mode = switches(domain, rules[i])
    const rule = mode === undefined ? rules[i] : mode === 'off' ? undefined : switchedRule(rules[i], mode)
    if (rule !== rules[i]) changed ??= rules.slice(0, i)
    if (rule !== undefined) changed?.push(rule)
  }
  return changed ?? rules
}

/**
 * Has the rules in quota mode stop nothing where one of them only reports: that one always passes, and one that passes
 * is enough.
 */
function withoutHelplessQuotas(charges: readonly PlannedCharge[]): readonly PlannedCharge[] {
  if (!charges.some(({ quota, rule }) => quota === true && rule.shadow)) return charges
  return withoutForce(charges, ({ quota }) => quota === true)
}

function withoutForce(
  charges: readonly PlannedCharge[],
  is: (charge: PlannedCharge) => boolean,
): readonly PlannedCharge[] {
  return charges.map((charge) => (charge.enforce && is(charge) ? { ...charge, enforce: false } : charge))
}

function checkCost(cost: number): number {
  if (cost === TOO_MUCH) return cost
  if (!Number.isInteger(cost) || Math.abs(cost) > MAX_COUNT) throw new SluiceError('COST_INVALID', 'cost', got(cost))
  return cost
}

/** Keeps what is too much too much: nothing is cut down to what a limit admits. */
function clamp(cost: number): number {
  return cost > MAX_COUNT ? TOO_MUCH : Math.max(-MAX_COUNT, cost)
}

/** Returns what a cost of 1 weighs under a rule. */
export function weightOf({ cost }: Rule, entries: readonly Entry[]): number {
  if (typeof cost === 'number') return cost
  const entry = entries.find(({ key }) => key === cost.by)
  return (entry && cost.weights.get(entry.value)) ?? cost.otherwise
}

/** Drops every rule that another rule of the same request replaces. */
function withoutReplaced(charges: readonly PlannedCharge[]): readonly PlannedCharge[] {
  if (charges.every(({ rule }) => rule.replaces.length === 0)) return charges
  const replaced = new Set(charges.flatMap(({ rule }) => rule.replaces))
  return charges.filter(({ rule }) => !replaced.has(rule.name))
}
