import type { Decision } from '../core/combine.ts'
import type { PlannedCharge } from './charge.ts'
import type { Observer } from './observer.ts'

/** A DecisionEvent is one decision in plain fields: what the rule that decided has said. */
export interface DecisionEvent {
  readonly allowed: boolean
  /** The id of that rule, or the name of the limit. Undefined where no rule applies. */
  readonly rule: string | undefined
  /** What kind of key it counts: the names of what tells callers apart, such as `user` or `ip,path`. Never their values. */
  readonly keyKind: string | undefined
  readonly cost: number
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** What the rule did because the shared store did not answer. */
  readonly fallback: 'open' | 'closed' | 'local' | undefined
  /** How long it took, the store included. */
  readonly ms: number
}

/** Observed is what an app says of who hears of decisions. */
export interface Observed {
  /** Hears of every decision. Default: nobody. */
  readonly observer?: Observer | undefined
  /** Told of every decision, in plain fields. It is on the way of every request: what takes long belongs elsewhere. Default: nobody. */
  readonly onDecision?: ((event: DecisionEvent) => void) | undefined
}

/** observerOf makes one observer of those that an app has, or none. */
export function observerOf({ observer, onDecision }: Observed): Observer | undefined {
  if (onDecision === undefined) return observer
  return {
    decided: (charges, decision, ms, context) => {
      observer?.decided(charges, decision, ms, context)
      if (isRequest(charges)) onDecision(eventOf(charges, decision, ms))
    },
    ...(observer?.unmatched !== undefined && {
      unmatched: (domain, entries, isKnown) => observer.unmatched?.(domain, entries, isKnown),
    }),
  }
}

/** isRequest leaves out what gives back, and what is charged later: those requests were told of before. */
function isRequest(charges: readonly PlannedCharge[]): boolean {
  return charges.length === 0 || charges.some(({ cost, debit }) => cost >= 0 && debit !== true)
}

function eventOf(
  charges: readonly PlannedCharge[],
  { allowed, verdicts, tightest }: Decision,
  ms: number,
): DecisionEvent {
  const at = tightest === undefined ? 0 : verdicts.indexOf(tightest)
  const { rule, entries = [], cost = 0 }: Partial<PlannedCharge> = charges[at] ?? {}
  const { limit, remaining, fallback } = verdicts[at]?.verdict ?? {}
  const keyKind = entries.length === 0 ? undefined : entries.map(({ key }) => key).join(',')
  return { allowed, rule: rule?.id, keyKind, cost, limit, remaining, fallback, ms }
}
