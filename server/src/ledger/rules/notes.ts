import { impossibleVerdict, refusedVerdict, type Verdict } from 'sluice/internal/core/decision'
import { type LedgerNote, type LedgerRefusal, paidField, shortField } from 'sluice/internal/core/ledger-note'
import type { Balance, Shortage } from '../core/account-state.ts'
import type { Parts } from '../core/lot.ts'
import { leftIn, partsJson, periodJson, shortJson, shortText, wouldHelp } from '../shortage-text.ts'

/** How long a caller waits for a ledger that does not answer. */
const AGAIN_MS = 1_000
const PAYING = ['allowance', 'grants', 'credits', 'overdraft'] as const

/** What one meter took of a request that is paid. */
export interface PaidMeter {
  readonly meter: string
  readonly amount: number
  /** Undefined: it is buffered, because the database is unavailable. */
  readonly paidFrom: Readonly<Parts> | undefined
  readonly balance: Balance | undefined
}

/** Says what paid: `"exports";paid=3;from="allowance";left=997;period-ends=1772409600`. */
export function paidNote(meters: readonly PaidMeter[]): LedgerNote {
  return { field: meters.map(fieldOf).join(', '), json: meters.map(paidJson) }
}

function fieldOf({ meter, amount, paidFrom, balance }: PaidMeter): string {
  if (paidFrom === undefined) return `"${meter}";paid=${amount};buffered`
  const from = PAYING.filter((part) => paidFrom[part] > 0)
  return paidField({ meter, amount, from, left: balance && leftIn(balance.available), endsAtMs: balance?.period.endMs })
}

function paidJson({ meter, amount, paidFrom, balance }: PaidMeter): Readonly<Record<string, unknown>> {
  const now = balance && { available: partsJson(balance.available), period: periodJson(balance.period) }
  if (paidFrom === undefined) return { meter, amount, buffered: true }
  return { meter, amount, paid_from: paidFrom, ...now }
}

/** A refusal as decisions show it: its verdict, with the status that goes with it. */
export interface Refused {
  readonly verdict: Verdict
  readonly status: number
}

/** Refuses what nothing pays for. Where time helps and the meter answers 429, the caller may come back. */
export function shortRefusal(
  meter: string,
  shortage: Shortage,
  {
    balance,
    status,
    nowMs,
  }: { readonly balance: Balance | undefined; readonly status: number; readonly nowMs: number },
): Refused {
  const { needed, available, ranOut, renewsAtMs } = shortage
  const ledger: LedgerRefusal = {
    code: 'LEDGER_SHORT',
    reason: `meter ${meter} ${shortText(shortage)}`,
    field: shortField({
      meter,
      needed,
      left: leftIn(available),
      ranOut,
      wouldHelp: wouldHelp(renewsAtMs),
      endsAtMs: balance?.period.endMs,
    }),
    json: [{ meter, ...shortJson(shortage), ...(balance && { period: periodJson(balance.period) }) }],
  }
  const waitMs = status === 429 && renewsAtMs !== undefined ? Math.max(1_000, renewsAtMs - nowMs) : undefined
  return { verdict: refusedBy(ledger, waitMs), status }
}

/** Refuses a request that leads to no customer: there is no one to bill. */
export function strangerRefusal(meter: string): Refused {
  const ledger: LedgerRefusal = {
    code: 'LEDGER_CUSTOMER_UNKNOWN',
    reason: `meter ${meter} bills customers, and this request names none that is known`,
    field: `"${meter}";customer=?0`,
    json: [{ meter }],
  }
  return { verdict: refusedBy(ledger, undefined), status: 402 }
}

/** Refuses because the ledger does not answer. */
export function awayRefusal(meter: string): Refused {
  const ledger: LedgerRefusal = {
    code: 'LEDGER_UNAVAILABLE',
    reason: `the ledger of meter ${meter} does not answer`,
    field: `"${meter}";unavailable`,
    json: [{ meter }],
  }
  return { verdict: refusedBy(ledger, AGAIN_MS), status: 503 }
}

/** There is no budget of a limit to report: it is 0, as of a block. */
function refusedBy(ledger: LedgerRefusal, waitMs: number | undefined): Verdict {
  const verdict = waitMs === undefined ? impossibleVerdict(0, 0, 0, 0) : refusedVerdict(0, 0, waitMs, waitMs)
  return { ...verdict, ledger }
}
