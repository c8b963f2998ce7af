/** LOT_RANKS are the kinds of lots in the order in which they pay. What was carried over is part of the allowance. */
const LOT_RANKS = { carried: 0, allowance: 0, grant: 1, credit: 2 } as const

export type LotKind = keyof typeof LOT_RANKS

/** A Lot is a quantity that was issued together and ends together. */
export interface Lot {
  /** 1, 2, 3, … within the account, in the order of issue. */
  readonly number: number
  readonly kind: LotKind
  /** Lower pays first, within a kind. */
  readonly priority: number
  readonly effectiveAtMs: number
  /** Pays for what happened before. Infinity: it never ends. */
  readonly expiresAtMs: number
  /** When what is left of it lapses or is carried over: when it expires, and the grace for late events is over. */
  readonly lapsesAtMs: number
  issued: number
  /** What of it was carried over. */
  carried: number
  /** Issued and not used. What is held is part of it. */
  remaining: number
  held: number
}

export const freeOf = (lot: Lot): number => lot.remaining - lot.held

/**
 * Orders lots as they are burned: by kind, then by priority, then the first to expire, then the oldest. Of two with
 * the same span, what was carried over goes before the allowance, which may be carried over itself.
 */
export function byBurning(a: Lot, b: Lot): number {
  const byKind = LOT_RANKS[a.kind] - LOT_RANKS[b.kind] || a.priority - b.priority
  if (byKind !== 0) return byKind
  if (a.expiresAtMs !== b.expiresAtMs) return a.expiresAtMs < b.expiresAtMs ? -1 : 1
  const byAge = a.effectiveAtMs - b.effectiveAtMs || Number(b.kind === 'carried') - Number(a.kind === 'carried')
  return byAge || a.number - b.number
}

/**
 * Whether a lot pays for what happened at a time. An allowance pays for its own period alone, others for anything
 * before their end.
 */
export function pays(lot: Lot, eventAtMs: number, nowMs: number): boolean {
  const fromMs = lot.kind === 'allowance' || lot.kind === 'carried' ? eventAtMs : Math.max(eventAtMs, nowMs)
  return lot.effectiveAtMs <= fromMs && eventAtMs < lot.expiresAtMs
}

/** Parts sums what was paid, or could be paid, by the parts of the waterfall. */
export interface Parts {
  allowance: number
  grants: number
  credits: number
  overdraft: number
  unpaid: number
}

export const noParts = (): Parts => ({ allowance: 0, grants: 0, credits: 0, overdraft: 0, unpaid: 0 })

/** Says to which part of the waterfall a kind of lot belongs. */
export const PART_OF_KIND = {
  carried: 'allowance',
  allowance: 'allowance',
  grant: 'grants',
  credit: 'credits',
} as const satisfies Record<LotKind, keyof Parts>
