import type { Verdict } from '../core/decision.ts'
import { holdsPermits } from '../core/limit.ts'
import type { Entry } from '../core/request.ts'
import type { Rule } from '../core/rules/rule-set.ts'
import type { Charge } from './ports.ts'

/** A charge with the rule that it comes from, and what it is about. */
export interface PlannedCharge extends Charge {
  readonly rule: Rule
  readonly domain: string
  /**
   * The entries that identify this caller's counter, as in the request, with secrets in clear: encode them before
   * showing.
   */
  readonly entries: readonly Entry[]
  /** The position of the descriptor, or of the limit, that it comes from. */
  readonly descriptor: number
  /** What a cost of 1 weighs here. Default: 1. */
  readonly weight?: number
  /** Set where it is decided already: no store is asked. Such a charge is the only one. */
  readonly verdict?: Verdict
  /** Of a request that is blocked: the entries of the descriptor that names who is. */
  readonly blocked?: readonly Entry[]
  /** The grant that is charged, and what the rule said that it stands in for. */
  readonly grant?: { readonly id: string; readonly refused: Verdict }
  /** True where the request is free by this rule: its budget is reported, and it is never refused. */
  readonly isFree?: boolean
  /**
   * True for a look (a cost of 0) that refuses requests: one that it refuses is refused by its rule, and judged by no
   * other.
   */
  readonly isCondition?: boolean
  /** True for counts that are not requests: observers receive them through `aside`. All charges of a call are. */
  readonly isAside?: boolean
}

/**
 * Makes a charge of 0 that of a free request, for instance because the rule gives it no weight. Otherwise a cost of 0
 * looks, and is answered as the next hit would be. Only this function and its callers decide which of the two a hit of
 * 0 is.
 */
export function freeCharge(charge: PlannedCharge): PlannedCharge {
  return { ...charge, cost: 0, enforce: false, isFree: true }
}

/** Makes the charge of a rule: what the rule says of the store goes with it. */
export function chargeOf(
  rule: Rule,
  key: string,
  cost: number,
  about: Pick<PlannedCharge, 'domain' | 'entries' | 'descriptor'>,
): PlannedCharge {
  const { domain, entries, descriptor } = about
  const { limit, shadow, quota } = rule
  return { key, limit, cost, enforce: !shadow, quota, policy: rule, rule, domain, entries, descriptor }
}

/** Whether a decision was made by a counter of hits. It may have charged nothing, an estimate of 0. */
export function isSettleable(charge: PlannedCharge, { allowed, fallback, unasked, grant }: Verdict): boolean {
  if (charge.cost < 0 || charge.rule.unlimited || holdsPermits(charge.limit)) return false
  return allowed && fallback === undefined && unasked !== true && grant === undefined
}
