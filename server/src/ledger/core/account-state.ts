import type { EntryKind, Totals } from './entry.ts'
import type { Lot, Parts } from './lot.ts'
import type { Period } from './period-calendar.ts'

/** An EndedPeriod takes late events until it is closed, and never changes after that. */
export interface EndedPeriod extends Period {
  readonly totals: Totals
  closedAtMs: number | undefined
}

/** An AccountState is what is stored of one customer and one meter. */
export interface AccountState {
  /** Undefined: nothing was ever asked of it. */
  period: Period | undefined
  /** Of that period. */
  totals: Totals
  /** Sum of what lots have left. */
  balance: number
  debt: number
  /** What open holds have of the overdraft. */
  debtHeld: number
  lastEntry: number
  lastLot: number
  /** The lot of the allowance of the period. 0: none was issued. */
  allowanceLot: number
  /** Which parts of the waterfall it ever had: 1 grants, 2 credits. */
  had: number
  /** Those that have something left, or are not over. */
  readonly lots: Lot[]
  /** Ended and not closed, in order. */
  readonly ended: EndedPeriod[]
}

/** A Claim is what a hold has of a lot, or of the overdraft. */
export interface Claim {
  readonly lot: number
  readonly amount: number
}

/** A Hold keeps an amount for one caller until it is committed, released, or over. */
export interface Hold {
  readonly id: string
  readonly amount: number
  readonly claims: readonly Claim[]
  readonly atMs: number
  readonly expiresAtMs: number
  readonly request: string
}

/** A Booked is one of the entries that an id has. */
export interface Booked {
  readonly number: number
  readonly part: number
  readonly kind: EntryKind
  readonly lot: number
  readonly amount: number
  readonly reserved: number | undefined
  readonly request: string | undefined
  readonly eventAtMs: number
  /** Which part of the waterfall paid, of what was used. */
  readonly paidBy: keyof Parts | undefined
  /** How much of it corrections have returned. */
  readonly returned: number
}

/** A Balance is what an account has at one moment. */
export interface Balance {
  /** What a request could be paid from now, by part; `unpaid` is 0. */
  readonly available: Readonly<Parts>
  readonly held: number
  readonly debt: number
  readonly period: Period
}

/** A Shortage says why a request is refused, and what would help. */
export interface Shortage {
  readonly needed: number
  readonly available: Readonly<Parts>
  /** The parts of the waterfall that the account has or had, all of which were asked. */
  readonly ranOut: readonly ('allowance' | 'grants' | 'credits')[]
  /** When the next allowance is issued, if that alone would pay for it. */
  readonly renewsAtMs: number | undefined
}

/** REJECTIONS are why a request means nothing. They change nothing. */
export const REJECTIONS = [
  'id_reused',
  'in_flight',
  'hold_unknown',
  'hold_committed',
  'hold_released',
  'entry_unknown',
  'correction_too_large',
  'event_in_future',
  'amount_too_large',
  'period_not_ended',
] as const

export type Rejection = (typeof REJECTIONS)[number]

/** An Outcome is the answer to one request. `isRepeated`: the request had been done before, and was not done again. */
export type Outcome =
  | {
      readonly kind: 'reserved'
      readonly amount: number
      readonly paidFrom: Readonly<Parts>
      readonly state: 'held' | 'committed' | 'released' | 'expired'
      readonly expiresAtMs: number | undefined
      readonly isRepeated: boolean
    }
  | {
      readonly kind: 'settled'
      readonly used: number
      readonly paidFrom: Readonly<Parts>
      /** Its hold was over before it came. */
      readonly isLate: boolean
      readonly isRepeated: boolean
    }
  | { readonly kind: 'released'; readonly isRepeated: boolean }
  | { readonly kind: 'issued'; readonly amount: number; readonly isRepeated: boolean }
  | { readonly kind: 'corrected'; readonly amount: number; readonly isRepeated: boolean }
  | { readonly kind: 'looked' }
  | { readonly kind: 'closed'; readonly periodMs: number }
  | { readonly kind: 'refused'; readonly shortage: Shortage }
  | { readonly kind: 'rejected'; readonly reason: Rejection }

/**
 * Forced marks what a caller was promised while the database was unavailable: it is booked, whatever there is. What
 * nothing pays for is unpaid, or a debt that may be beyond the overdraft.
 */
export interface Forced {
  readonly as: 'unpaid' | 'debt'
  /** When it was promised. */
  readonly atMs: number
}

/** An Operation is one request on one account. */
export type Operation =
  | {
      readonly kind: 'reserve'
      readonly id: string
      readonly amount: number
      readonly holdMs?: number | undefined
      readonly forced?: Forced | undefined
    }
  | { readonly kind: 'commit'; readonly id: string; readonly used: number; readonly forced?: Forced | undefined }
  | { readonly kind: 'release'; readonly id: string; readonly forced?: Forced | undefined }
  | {
      readonly kind: 'event'
      readonly id: string
      readonly amount: number
      readonly atMs?: number | undefined
      readonly forced?: Forced | undefined
    }
  | ({ readonly kind: 'issue' } & Issue)
  | {
      readonly kind: 'correct'
      readonly id: string
      readonly corrects: string
      readonly amount: number
      readonly note?: string | undefined
    }
  | { readonly kind: 'close'; readonly periodMs: number }
  | { readonly kind: 'look' }

/** An Issue is a grant, or credit that was bought. */
export interface Issue {
  readonly id: string
  readonly lotKind: 'grant' | 'credit'
  readonly amount: number
  /** 0 to 100; lower pays first. 50 by default. */
  readonly priority?: number | undefined
  readonly effectiveAtMs?: number | undefined
  readonly expiresAtMs?: number | undefined
  readonly note?: string | undefined
}
