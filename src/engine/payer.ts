import type { Decision } from '../core/combine.ts'
import { refusedVerdict, type Verdict } from '../core/decision.ts'
import type { LedgerHold, LedgerPayment } from '../core/ledger-note.ts'
import { MAX_COUNT } from '../core/limit.ts'
import type { Rule, RuleLedger } from '../core/rules/rule-set.ts'
import type { PlannedCharge } from './charge.ts'
import type { MaybePromise } from './ports.ts'

/** A Due is what a request takes of one meter. */
export interface Due {
  readonly charge: PlannedCharge
  readonly ledger: RuleLedger
  readonly amount: number
}

/** What came of asking a ledger. `at` is the position of the due that is not paid: then none is. */
export type Paid =
  | { readonly kind: 'paid'; readonly payment: LedgerPayment }
  | { readonly kind: 'unpaid'; readonly at: number; readonly verdict: Verdict; readonly status: number }

/**
 * Pays for what limits have admitted, from quota that is billed. It never throws or rejects: a ledger that does not
 * answer is a refusal.
 */
export interface Payer {
  /** Pays all dues or none. `isHeld`: the amounts are kept until `commit`; otherwise they are booked. */
  pay(dues: readonly Due[], isHeld: boolean): MaybePromise<Paid>
  /**
   * Books what a hold came to; 0 gives it back. `before` is what was booked of it already, where more became known
   * afterwards. Returns whether it is booked; what is not is tried again for as long as the process has room for it.
   */
  commit(hold: LedgerHold, used: number, before?: number): MaybePromise<boolean>
}

/** Returns what an admitted request owes; undefined where no rule names a meter, which allocates nothing. */
export function duesOf(
  charges: readonly PlannedCharge[],
  { verdicts }: Decision,
  isHeld: boolean,
): readonly Due[] | undefined {
  let dues: Due[] | undefined
  for (let i = 0; i < charges.length; i++) {
    const charge = charges[i]
    const { ledger } = charge.rule
    if (ledger === undefined || !isDue(charge, verdicts[i].verdict, isHeld)) continue
    dues ??= []
    dues.push({ charge, ledger, amount: amountOf(charge.cost, ledger) })
  }
  return dues
}

/** A request that gives back, only looks, or is free owes nothing, and neither does a rule that only reports. */
function isDue(charge: PlannedCharge, { allowed }: Verdict, isHeld: boolean): boolean {
  const { cost, rule, debit, isAside, isFree, isCondition } = charge
  if (rule.shadow || !allowed || debit === true || isAside === true || isFree === true || isCondition === true)
    return false
  // An estimate of 0 is one: what it comes to is known later, and something must be there to pay for it.
  return cost > 0 || (cost === 0 && isHeld && rule.ledger?.amount === 'settled')
}

/** Returns what a request takes of a meter before it is known what it has cost. */
export function amountOf(cost: number, { amount }: RuleLedger): number {
  return typeof amount === 'number' ? amount : Math.max(1, Math.min(cost, MAX_COUNT))
}

/** Returns what a hold of a due is to know: how much of it a settled cost takes. */
export const settledWeightOf = ({ charge, ledger }: Due): number =>
  ledger.amount === 'settled' ? (charge.weight ?? 1) : 0

const NO_LEDGER = {
  code: 'LEDGER_UNAVAILABLE',
  reason: 'the rule names a meter, and this app has no ledger',
  field: '"";unavailable',
  json: [],
} as const

/** Refuses what rules with a meter admit, where there is no ledger: no such rule lets anything pass unpaid. */
export const NO_PAYER: Payer = Object.freeze({
  pay: (): Paid => {
    const verdict = { ...refusedVerdict(0, 0, 1_000, 1_000), ledger: NO_LEDGER }
    return { kind: 'unpaid', at: 0, status: 503, verdict }
  },
  commit: () => false,
})

const unpaidRules = new WeakMap<Rule, Map<number, Rule>>()

/** Returns the rule that decisions show for a refusal by the ledger: the same, with the status of the meter. */
export function unpaidRule(rule: Rule, status: number): Rule {
  const known = unpaidRules.get(rule) ?? new Map<number, Rule>()
  unpaidRules.set(rule, known)
  const response = { status, body: undefined, headers: rule.response?.headers ?? [] }
  const made = known.get(status) ?? Object.freeze({ ...rule, unlimited: false, response: Object.freeze(response) })
  known.set(status, made)
  return made
}
