import type { Decision } from '../core/combine.ts'
import type { PlannedCharge } from './charge.ts'
import type { Observer } from './observer.ts'

/** One decision in plain fields: what the rule that decided has said. */
export interface DecisionEvent {
  readonly allowed: boolean
  /** The id of that rule, or the name of the limit. Undefined where no rule applies. */
  readonly rule: string | undefined
  /**
   * What kind of key it counts: the names of the entries that identify a caller, such as `user` or `ip,path`. Never
   * their values.
   */
  readonly keyKind: string | undefined
  readonly cost: number
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** What the rule did because the shared store did not answer. */
  readonly fallback: 'open' | 'closed' | 'local' | undefined
  /** How long it took, the store included. */
  readonly ms: number
}

/** The observers that an app sets. */
export interface Observed {
  /** Receives every decision. Default: none. */
  readonly observer?: Observer | undefined
  /**
   * Called with every decision, in plain fields. It runs on the path of every request, so keep it fast. Default: none.
   */
  readonly onDecision?: ((event: DecisionEvent) => void) | undefined
}

/** Combines the observers of an app into one, or returns undefined without any. */
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

/** Excludes refunds and late charges: those requests were reported before. */
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
