import type { ServerResponse } from 'node:http'
import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'
import { problem } from 'sluice/internal/core/http/problem'
import { writeJson } from '../../edge/http/write.ts'
import type {
  Balance,
  Operation as LedgerOperation,
  Outcome,
  Rejection,
  Shortage,
} from '../../ledger/core/account-state.ts'
import { noParts } from '../../ledger/core/lot.ts'
import type { LedgerAnswer } from '../../ledger/ledger-batch.ts'
import { partsJson, periodJson, shortJson, shortText } from '../../ledger/shortage-text.ts'
import { list, named, needed, object, orNull, TIME, WHOLE, YES_OR_NO } from '../../records/forms.ts'
import { timeOrNull, unknownRecord } from '../api/values.ts'

/** PARTS are the parts of the waterfall, in the order in which they pay. */
const PARTS = {
  allowance: needed(WHOLE, 'of the plan, what was carried over included'),
  grants: needed(WHOLE),
  credits: needed(WHOLE),
  overdraft: needed(WHOLE),
} as const

export const PAID_FROM = named('PaidFrom', object({ ...PARTS, unpaid: needed(WHOLE, 'used, and paid for by nothing') }))

const AVAILABLE = named('Available', object(PARTS))

/** SHORTAGE is why a request is refused, and what would help. */
export const SHORTAGE = named(
  'Shortage',
  object({
    needed: needed(WHOLE),
    available: needed(AVAILABLE),
    ran_out: needed(list({ kind: 'choice', of: ['allowance', 'grants', 'credits'] }), 'the parts that were asked'),
    renews_at: orNull(TIME, 'when the next allowance alone would pay for it; null: it would not'),
    would_help: needed(list({ kind: 'choice', of: ['next_period', 'credits'] })),
  }),
)

export const BALANCE = named(
  'LedgerBalance',
  object({
    available: needed(AVAILABLE, 'what a request could be paid from now'),
    held: needed(WHOLE, 'kept for open reservations'),
    debt: needed(WHOLE),
    period: needed(object({ start: needed(TIME), end: needed(TIME) })),
  }),
)

export const BUFFERED = needed(
  YES_OR_NO,
  'the database is unavailable: it is kept on the disk of the node, and booked when the database has recovered',
)

/** ANSWERED_BALANCE is null where the database was not asked. */
export const ANSWERED_BALANCE = orNull(BALANCE, 'null: it is buffered')

export const REPEATED = needed(YES_OR_NO, 'it had been done before, and was not done again')

export function balanceJson({ available, held, debt, period }: Balance) {
  return { available: partsJson(available), held, debt, period: periodJson(period) }
}

/** A Done is an outcome that did what was asked. */
export type Done = Exclude<LedgerAnswer['outcome'], { kind: 'refused' | 'rejected' | 'unknown' }>

/** What is known of an operation that is buffered: what was asked, as if it were done. */
export function bufferedJson(id: string, asked: LedgerOperation, isRepeated: boolean) {
  const paid = { paid_from: noParts(), repeated: isRepeated }
  if (asked.kind === 'reserve') return { id, amount: asked.amount, state: 'held', expires_at: null, ...paid }
  if (asked.kind === 'commit') return { id, used: asked.used, late: false, ...paid }
  return { id, repeated: isRepeated }
}

export function doneJson(id: string, outcome: Done): Readonly<Record<string, unknown>> {
  switch (outcome.kind) {
    case 'reserved': {
      const { amount, paidFrom, state, expiresAtMs, isRepeated } = outcome
      return { id, amount, state, expires_at: timeOrNull(expiresAtMs), paid_from: paidFrom, repeated: isRepeated }
    }
    case 'settled': {
      const { used, paidFrom, isLate, isRepeated } = outcome
      return { id, used, paid_from: paidFrom, late: isLate, repeated: isRepeated }
    }
    case 'released':
      return { id, repeated: outcome.isRepeated }
    case 'issued':
    case 'corrected':
      return { id, amount: outcome.amount, repeated: outcome.isRepeated }
    default:
      return {}
  }
}

const REJECTED: Readonly<Record<Rejection, readonly [code: ErrorCode, detail: string]>> = {
  id_reused: ['LEDGER_ID_REUSED', 'the id was used for another request'],
  in_flight: ['IDEMPOTENCY_IN_PROGRESS', 'the first request with this id is in flight'],
  hold_unknown: ['LEDGER_HOLD_UNKNOWN', 'there is no reservation of this id'],
  hold_committed: ['LEDGER_HOLD_RESOLVED', 'the reservation was committed'],
  hold_released: ['LEDGER_HOLD_RESOLVED', 'the reservation was released'],
  entry_unknown: ['RECORD_UNKNOWN', 'nothing was used under this id'],
  correction_too_large: ['LEDGER_AMOUNT_TOO_LARGE', 'less than that was used under this id, or is left of it'],
  event_in_future: ['LEDGER_EVENT_IN_FUTURE', 'the event is more than five minutes ahead'],
  amount_too_large: ['LEDGER_AMOUNT_TOO_LARGE', 'the sum would be beyond 9007199254740991'],
  period_not_ended: ['LEDGER_PERIOD_OPEN', 'no period that begins then has ended and is open'],
}

export const rejectionOf = (reason: Rejection): SluiceError =>
  new SluiceError(REJECTED[reason][0], 'ledger', REJECTED[reason][1])

export const LEDGER_ERRORS = [
  'RECORD_UNKNOWN',
  'LEDGER_ID_REUSED',
  'IDEMPOTENCY_IN_PROGRESS',
  'LEDGER_AMOUNT_TOO_LARGE',
  'LEDGER_BUSY',
] as const

/** Returns what was done, or throws why it was not; a refusal is neither, and returned as it is. */
export function doneOf(
  answer: LedgerAnswer,
  { customer, meter }: { readonly customer: string; readonly meter: string },
): Done | Extract<Outcome, { kind: 'refused' }> {
  const { outcome } = answer
  if (outcome.kind === 'unknown') {
    throw unknownRecord(outcome.what === 'meter' ? 'meters' : 'customers', outcome.what === 'meter' ? meter : customer)
  }
  if (outcome.kind === 'rejected') throw rejectionOf(outcome.reason)
  return outcome
}

/**
 * Writes a refusal: 402, where only money helps, or 429 with the time at which the next allowance would do, as the
 * meter says.
 */
export function writeShort(response: ServerResponse, shortage: Shortage, status: number, nowMs: number): void {
  const title = status === 402 ? 'Payment Required' : 'Too Many Requests'
  const detail = new SluiceError('LEDGER_SHORT', 'ledger', shortText(shortage)).message
  if (status === 429 && shortage.renewsAtMs !== undefined) {
    response.setHeader('Retry-After', Math.max(1, Math.ceil((shortage.renewsAtMs - nowMs) / 1000)))
  }
  const body = { ...problem(status, title, detail, 'LEDGER_SHORT'), ...shortJson(shortage) }
  writeJson(response, status, 'application/problem+json', body)
}

/** What each event of a batch came to, in one word for programs. */
export function eventResult({ outcome }: LedgerAnswer): Readonly<Record<string, unknown>> {
  const result = { result: 'refused', code: null, paid_from: null, shortage: null }
  if (outcome.kind === 'settled') {
    return { ...result, result: outcome.isRepeated ? 'duplicate' : 'accepted', paid_from: outcome.paidFrom }
  }
  if (outcome.kind === 'buffered') return { ...result, result: 'buffered' }
  if (outcome.kind === 'refused') return { ...result, code: codeOf(outcome), shortage: shortJson(outcome.shortage) }
  return { ...result, code: codeOf(outcome) }
}

/** Returns why an operation was not done. */
export function codeOf(outcome: LedgerAnswer['outcome']): ErrorCode {
  if (outcome.kind === 'refused') return 'LEDGER_SHORT'
  return outcome.kind === 'rejected' ? REJECTED[outcome.reason][0] : 'RECORD_UNKNOWN'
}
