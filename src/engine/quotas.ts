import { impossibleVerdict, refusedVerdict, type Verdict } from '../core/decision.ts'
import { compileLimit, onceLimit } from '../core/limit.ts'
import type { CheckRequest, Entry } from '../core/request.ts'
import type { AccountLookup, TierLookup } from '../core/rules/match.ts'
import { DEFAULTS } from '../core/rules/rule-defaults.ts'
import type { PathStep, Rule } from '../core/rules/rule-set.ts'
import type { PlannedCharge } from './charge.ts'
import type { LayerMode, ShedLayer } from './load-shedder.ts'

/**
 * What is set for callers in addition to the rules. Everything is answered from memory; members are undefined where
 * nothing is set, so that decisions skip them.
 */
export interface Quotas {
  readonly accounts: AccountLookup | undefined
  readonly tiers: TierLookup | undefined
  readonly blocks: BlockLookup | undefined
  readonly grants: GrantLookup | undefined
  readonly switches: SwitchLookup | undefined
  /** The modes of the layers that shed load. */
  readonly layers?: LayerLookup | undefined
}

/** Finds what refuses a request whatever the rules say. Descriptors that give back are not asked about. */
export type BlockLookup = (request: CheckRequest) => BlockedBy | undefined

/** Why a request is refused before anything is counted. */
export interface BlockedBy {
  /** The same object for the same block. */
  readonly block: KnownBlock
  /** The position of the descriptor that names who is blocked. */
  readonly descriptor: number
  /** Undefined: without end. */
  readonly endsInMs: number | undefined
}

export interface KnownBlock {
  readonly id: string
  /** Whom it is about, for people: `customer_id=acme`. It holds no secret. */
  readonly who: string
  readonly reason: string | undefined
  readonly status: number
  readonly body: string | undefined
}

/**
 * Finds the grants of a caller for a rule of a domain, in the order of their use. `below` is what stands below the
 * caller's entry.
 */
export type GrantLookup = (caller: Entry, below: string, domain: string, rule: Rule) => readonly KnownGrant[]

/** Extra budget, once. */
export interface KnownGrant {
  readonly id: string
  readonly amount: number
  /** It names the rule that it is for. */
  readonly namesRule: boolean
}

/** Returns the mode a rule is switched to, which overrides its own; undefined where none is set. */
export type SwitchLookup = (domain: string, rule: Rule) => 'off' | 'shadow' | 'enforce' | undefined

/** Returns the mode of a layer that sheds load; undefined where none is set. */
export type LayerLookup = (layer: ShedLayer) => LayerMode | undefined

/** The name and id of the rule that decisions show for a block. */
export const BLOCKED = 'blocked'

const NOTHING = compileLimit({ limit: 0, window: 1_000 })
const blockRules = new WeakMap<KnownBlock, Pick<PlannedCharge, 'rule' | 'key'>>()

/**
 * Returns the one charge of a request that is blocked. No store is asked about it: its key names the block, for
 * observers.
 */
export function blockedCharge(
  { block, descriptor, endsInMs }: BlockedBy,
  { domain, cost = 1, descriptors }: CheckRequest,
): PlannedCharge {
  const made = blockRules.get(block) ?? { rule: ruleOf(block), key: `${BLOCKED}|${block.id}|${block.who}` }
  blockRules.set(block, made)
  const verdict = blockedVerdict(block, endsInMs)
  return {
    ...made,
    limit: NOTHING,
    cost: Math.max(0, cost),
    enforce: true,
    domain,
    entries: descriptors[descriptor].entries,
    descriptor,
    verdict,
    blocked: descriptors[descriptor].entries,
  }
}

function ruleOf({ status, body }: KnownBlock): Rule {
  const response = Object.freeze({ status, body, headers: [] })
  return Object.freeze({ ...DEFAULTS, id: BLOCKED, name: BLOCKED, isNamed: true, limit: NOTHING, response, path: [] })
}

function blockedVerdict({ id, reason }: KnownBlock, endsInMs: number | undefined): Verdict {
  const verdict = endsInMs === undefined ? impossibleVerdict(0, 0, 0, 0) : refusedVerdict(0, 0, endsInMs, endsInMs)
  return { ...verdict, block: { id, ...(reason !== undefined && { reason }) } }
}

/** Grants are counted outside all domains: a customer may use one in several. */
export const GRANT_DOMAIN = '$grants'
const GRANT_STEP: PathStep = Object.freeze({
  isOpen: true,
  wildcard: undefined,
  secret: false,
  sharedAs: undefined,
  detailedMetric: false,
  valueToMetric: false,
  metadata: undefined,
})

const grantRules = new WeakMap<Rule, WeakMap<KnownGrant, Rule>>()

/** Returns the rule that decisions show for a grant that replaces a rule: exact, on a separate counter. */
export function grantRule(rule: Rule, grant: KnownGrant): Rule {
  const known = grantRules.get(rule) ?? new WeakMap<KnownGrant, Rule>()
  grantRules.set(rule, known)
  const made =
    known.get(grant) ??
    Object.freeze({
      ...rule,
      id: 'grant',
      name: 'grant',
      isNamed: true,
      limit: onceLimit(grant.amount),
      consistency: 'exact' as const,
      path: [GRANT_STEP],
    })
  known.set(grant, made)
  return made
}

/** Returns the entries of a grant's counter: the same for every key of the customer. */
export function grantEntries({ id }: KnownGrant): readonly Entry[] {
  return [{ key: 'grant', value: id }]
}

const switched = { shadow: new WeakMap<Rule, Rule>(), enforce: new WeakMap<Rule, Rule>() }

/** Returns a rule in another mode. It is made once, so that whatever is kept for a rule is found again. */
export function switchedRule(rule: Rule, mode: 'shadow' | 'enforce'): Rule {
  const shadow = mode === 'shadow'
  if (rule.shadow === shadow) return rule
  const known = switched[mode].get(rule)
  if (known !== undefined) return known
  const made = Object.freeze({ ...rule, shadow })
  switched[mode].set(rule, made)
  return made
}
