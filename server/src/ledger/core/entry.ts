/** NO_LOT marks what was used on overdraft, UNPAID what nothing paid for. Lots are numbered from 1. */
export const NO_LOT = 0
export const UNPAID = -1

/**
 * ENTRY_KINDS say from which account an entry takes its amount and into which it puts it, so that every entry sums to
 * zero. `lot` is the lot that the entry names: `debt` where that is NO_LOT, `unpaid` where it is UNPAID. Those
 * without accounts have an amount of 0: they note that a hold was resolved.
 */
export const ENTRY_KINDS = {
  issue: { from: 'source', to: 'lot' },
  use: { from: 'lot', to: 'used' },
  return: { from: 'used', to: 'lot' },
  lapse: { from: 'lot', to: 'lapsed' },
  carry_out: { from: 'lot', to: 'carried' },
  carry_in: { from: 'carried', to: 'lot' },
  repay: { from: 'lot', to: 'debt' },
  release: undefined,
  expire: undefined,
} as const

export type EntryKind = keyof typeof ENTRY_KINDS

/** An Entry is one movement. It is never changed: what was wrong is corrected by another entry that names it. */
export interface Entry {
  /** 1, 2, 3, … within the account, without a gap. */
  readonly number: number
  /** What the caller named it: of a reservation, an event, an issue or a correction. Undefined: the ledger made it. */
  readonly id: string | undefined
  /** 0, 1, … among the entries of one id. */
  readonly part: number
  readonly kind: EntryKind
  readonly lot: number
  readonly amount: number
  /** What a repetition has to say to be one. On part 0. */
  readonly request: string | undefined
  /** What was held, where it resolves a hold. On part 0. */
  readonly reserved: number | undefined
  readonly atMs: number
  /** When it happened, which may be before it was booked. */
  readonly eventAtMs: number
  /** The start of the period whose statement has it. */
  readonly periodMs: number
  /** The number of the entry that it corrects. */
  readonly corrects: number | undefined
  readonly note: string | undefined
}

/**
 * Totals are the sums of a period. What an account has in the end is `opening + issued + carried + unpaid − used −
 * lapsed`.
 */
export interface Totals {
  opening: number
  issued: number
  carried: number
  used: number
  lapsed: number
  unpaid: number
}

export const noTotals = (opening: number): Totals => ({ opening, issued: 0, carried: 0, used: 0, lapsed: 0, unpaid: 0 })

export const closingOf = ({ opening, issued, carried, used, lapsed, unpaid }: Totals): number =>
  opening + issued + carried + unpaid - used - lapsed

/** Adds an entry to the totals of its period. Returns by how much it changes what the account has, less its debt. */
export function addTo(totals: Totals, kind: EntryKind, lot: number, amount: number): number {
  const before = closingOf(totals)
  if (kind === 'issue') totals.issued += amount
  else if (kind === 'lapse') totals.lapsed += amount
  else if (kind === 'carry_in') totals.carried += amount
  else if (kind === 'carry_out') totals.carried -= amount
  else if (kind === 'use' || kind === 'return') {
    const sign = kind === 'use' ? 1 : -1
    totals.used += sign * amount
    if (lot === UNPAID) totals.unpaid += sign * amount
  }
  return closingOf(totals) - before
}
