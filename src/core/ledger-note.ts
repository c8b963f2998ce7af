/** The field by which an answer says who paid for a request, or what ran out. */
export const LEDGER_FIELD = 'Sluice-Ledger'

/** A LedgerNote is what the ledger says about a request, for the answer to it. */
export interface LedgerNote {
  /** The value of Sluice-Ledger: a List of structured fields (RFC 9651), one member for each meter. */
  readonly field: string
  /** The same for programs: one object for each meter. */
  readonly json: readonly Readonly<Record<string, unknown>>[]
}

/** Why the ledger refuses a request that every limit admits. */
export interface LedgerRefusal extends LedgerNote {
  readonly code: 'LEDGER_SHORT' | 'LEDGER_CUSTOMER_UNKNOWN' | 'LEDGER_UNAVAILABLE'
  /** In one sentence: what ran out, and what would help. */
  readonly reason: string
}

/** A LedgerHold is what a request keeps of an account until it has ended. */
export interface LedgerHold {
  /** The key of the counter whose rule names the meter. */
  readonly key: string
  readonly customer: string
  readonly meter: string
  readonly id: string
  readonly amount: number
  /** What one unit of a settled cost takes. 0: the amount is known before. */
  readonly weight: number
}

/** A LedgerPayment is what paid for an admitted request. `holds` is empty where it is booked already. */
export interface LedgerPayment extends LedgerNote {
  readonly holds: readonly LedgerHold[]
}

/** Formats what a meter paid, as a member of Sluice-Ledger. */
export function paidField(paid: {
  readonly meter: string
  readonly amount: number
  readonly from: readonly string[]
  /** Undefined: it is not known now. */
  readonly left: number | undefined
  readonly endsAtMs: number | undefined
}): string {
  const { meter, amount, from, left, endsAtMs } = paid
  return `"${meter}";paid=${amount};from="${from.join(' ')}"${left === undefined ? '' : `;left=${left}`}${endsField(endsAtMs)}`
}

/** Formats what ran out, as a member of Sluice-Ledger. */
export function shortField(short: {
  readonly meter: string
  readonly needed: number
  readonly left: number
  readonly ranOut: readonly string[]
  readonly wouldHelp: readonly string[]
  readonly endsAtMs: number | undefined
}): string {
  const { meter, needed, left, ranOut, wouldHelp, endsAtMs } = short
  const why = `ran-out="${ranOut.join(' ')}";would-help="${wouldHelp.join(' ')}"`
  return `"${meter}";short=${needed};left=${left};${why}${endsField(endsAtMs)}`
}

/** When the next period begins, in Unix seconds. */
const endsField = (ms: number | undefined): string => (ms === undefined ? '' : `;period-ends=${Math.ceil(ms / 1000)}`)
