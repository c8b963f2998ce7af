import type { Outcome } from './algorithms/outcome.ts'
import type { LedgerRefusal } from './ledger-note.ts'
import { type Limit, MAX_COUNT } from './limit.ts'

/** What every verdict says, whatever its kind. */
export interface VerdictFields {
  readonly limit: number
  /** Whole hits that still fit, after this request's charge. */
  readonly remaining: number
  /**
   * Until the window ends, the bucket is full, or the last record leaves the log. 0 for an unused counter, unless the
   * cost is impossible: then until the end of the window that it would be in.
   */
  readonly resetAfterMs: number
  /** Set when the shared store did not answer, and the rule's failure policy did. */
  readonly fallback?: 'open' | 'closed' | 'local'
  /** Of a late charge: how much of it went beyond the bound of debts, and was not charged. */
  readonly dropped?: number
  /**
   * True when the store was not asked, because another rule was known to refuse. The budget fields then mean nothing.
   */
  readonly unasked?: boolean
  /** Set when the caller is blocked, and no rule was asked: which block, and why. */
  readonly block?: { readonly id: string; readonly reason?: string }
  /** Set when the request was shed to protect the fleet, this worker or an upstream. */
  readonly shed?: 'fleet' | 'worker' | 'upstream'
  /** Set when every limit admits the request, and the ledger of the rule's meter does not pay for it. */
  readonly ledger?: LedgerRefusal
  /** The id of the grant that was charged, because the caller's own limit has nothing left. */
  readonly grant?: string
  /**
   * True when it is refused only because of what is lent to others: a store's word to the node that asks, who asks the
   * lender.
   */
  readonly lent?: boolean
}

/** One rule's answer. A refusal is a value, and "waiting never helps" is a separate kind. */
export type Verdict =
  | (VerdictFields & {
      readonly kind: 'allowed'
      readonly allowed: true
      /** leaky_bucket: continue only after this long. 0 for every other algorithm. */
      readonly delayMs: number
    })
  | (VerdictFields & {
      readonly kind: 'refused'
      readonly allowed: false
      /** The same cost is refused 1 ms before this and admitted at it, if nothing else happens. */
      readonly retryAfterMs: number
    })
  | (VerdictFields & {
      readonly kind: 'impossible'
      readonly allowed: false
      /** The largest cost that this limit can ever admit. */
      readonly maxCost: number
    })

/**
 * allowedVerdict, refusedVerdict, lentVerdict and impossibleVerdict are the only places that make verdicts, so that all
 * of one kind have one shape.
 */
export function allowedVerdict(limit: number, remaining: number, resetAfterMs: number, delayMs = 0): Verdict {
  return { kind: 'allowed', allowed: true, limit, remaining, resetAfterMs, delayMs }
}

export function refusedVerdict(limit: number, remaining: number, resetAfterMs: number, retryAfterMs: number): Verdict {
  return { kind: 'refused', allowed: false, limit, remaining, resetAfterMs, retryAfterMs }
}

/** Refuses what would fit, were all that is lent given back. */
export function lentVerdict(limit: number, resetAfterMs: number, retryAfterMs: number): Verdict {
  return { kind: 'refused', allowed: false, limit, remaining: 0, resetAfterMs, retryAfterMs, lent: true }
}

export function impossibleVerdict(limit: number, remaining: number, resetAfterMs: number, maxCost: number): Verdict {
  return { kind: 'impossible', allowed: false, limit, remaining, resetAfterMs, maxCost }
}

/** Returns the answer of a rule that was not asked, because another one refuses. */
export function unaskedVerdict(limit: number): Verdict {
  return { kind: 'allowed', allowed: true, limit, remaining: 0, resetAfterMs: 0, delayMs: 0, unasked: true }
}

/** Returns the answer of a rule without a limit. */
export const UNLIMITED_VERDICT: Verdict = Object.freeze(allowedVerdict(MAX_COUNT, MAX_COUNT, 0))

/** Converts an Outcome to a Verdict. */
export function verdictOf(out: Outcome, limit: Limit): Verdict {
  if (out.allowed) return allowedVerdict(limit.max, compact(out.remaining), compact(out.resetAfterMs), out.delayMs)
  return deniedOf(out, limit)
}

function deniedOf(out: Outcome, limit: Limit): Verdict {
  const remaining = compact(out.remaining)
  const resetAfterMs = compact(out.resetAfterMs)
  if (out.impossible) return impossibleVerdict(limit.max, remaining, resetAfterMs, limit.capacity)
  return refusedVerdict(limit.max, remaining, resetAfterMs, compact(out.retryAfterMs))
}

/** Returns the answer to a late charge, which is never refused. */
export function debitVerdict(limit: number, remaining: number, resetAfterMs: number, dropped: number): Verdict {
  return { ...allowedVerdict(limit, remaining, resetAfterMs), dropped }
}

/** Converts the Outcome of a late charge to a Verdict. */
export function debitedOf(out: Outcome, limit: Limit): Verdict {
  return debitVerdict(limit.max, compact(out.remaining), compact(out.resetAfterMs), out.dropped)
}

/** Returns, after a look, the budget of a charge that would have fitted into a group that was refused. */
export function unchargedOf(out: Outcome, limit: Limit): Verdict {
  return allowedVerdict(limit.max, compact(out.remaining), compact(out.resetAfterMs))
}

/** Returns the verdict about a counter that counts beyond its limit: the hits in this window, this one included. */
export function hitVerdict(limit: number, hits: number, resetAfterMs: number): Verdict {
  if (hits > limit) return refusedVerdict(limit, 0, resetAfterMs, resetAfterMs)
  return allowedVerdict(limit, limit - hits, resetAfterMs)
}

/**
 * Returns the same number as a 31-bit integer if it is one. Arithmetic on times yields floating point numbers to the
 * engine even when they are whole, and each such field of a fresh object costs a separate allocation.
 */
export function compact(value: number): number {
  return value < 1_073_741_824 ? value | 0 : value
}
