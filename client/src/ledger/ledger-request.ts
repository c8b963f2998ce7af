/** Whose account, and of what. */
export interface LedgerWhose {
  readonly customer: string
  readonly meter: string
}

/** An amount that a request takes. */
export interface LedgerAsked extends LedgerWhose {
  readonly amount: number
  /** Makes the request safe to send again; choose one where your program may. Default: a random one. */
  readonly id?: string
  /** How long a reservation lasts. Default: as the meter says. */
  readonly holdSeconds?: number
}

/** What each part of the waterfall has, or paid. */
export type LedgerParts = Readonly<Record<'allowance' | 'grants' | 'credits' | 'overdraft', number>>

/** What was booked. */
export interface Booked {
  readonly paid: true
  readonly id: string
  readonly used: number
  readonly paidFrom: LedgerParts & { readonly unpaid: number }
  /** It had been booked before, and was not again. */
  readonly repeated: boolean
}

/** An amount that is kept until it is committed, released, or over. */
export interface Reserved {
  readonly paid: true
  readonly id: string
  readonly amount: number
  readonly paidFrom: LedgerParts & { readonly unpaid: number }
  readonly repeated: boolean
  /** Undefined: it is not held any more. */
  readonly expiresAt?: Date
  /** Books what was used; the rest goes back to where it came from. */
  commit(used: number): Promise<Booked>
  release(): Promise<void>
}

/** What work that holds a reservation may say. */
export interface Hold {
  readonly id: string
  readonly amount: number
  /** What is committed when the work has ended: all of the amount, unless the work says otherwise. */
  used: number
}

/** Too little is left. Nothing was booked. */
export interface NotPaid {
  readonly paid: false
  /** 402, or 429 where the meter says so. */
  readonly status: number
  readonly reason: string
  readonly needed: number
  readonly available: LedgerParts
  readonly ranOut: readonly ('allowance' | 'grants' | 'credits')[]
  readonly wouldHelp: readonly ('next_period' | 'credits')[]
  /** When the next allowance alone would pay for it. Undefined: it would not. */
  readonly renewsAt?: Date
}

/** What a customer has of a meter. */
export interface Balance {
  readonly available: LedgerParts
  readonly held: number
  readonly debt: number
  readonly period: { readonly start: string; readonly end: string }
}
