import type { Operation as LedgerOperation } from '../../ledger/core/account-state.ts'
import type { Entry } from '../../ledger/core/entry.ts'
import type { ShownAccount, Statement } from '../../ledger/statements.ts'
import {
  list,
  named,
  needed,
  object,
  optional,
  orNull,
  REASON,
  SPAN,
  TIME,
  text,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import { csvOf } from '../api/csv.ts'
import { type Call, type Change, operation } from '../api/operation.ts'
import { CUSTOMER_PARAM } from '../api/params.ts'
import { RULES } from '../api/parts.ts'
import { DEFAULT_PAGE_SIZE, load } from '../api/records.ts'
import { invalid, timeOf, timeOrNull, timeText, unknownRecord } from '../api/values.ts'
import { downloadAs } from '../audit/operations.ts'
import { METER_PARAM } from '../meters/operations.ts'
import { BALANCE, balanceJson, doneJson, doneOf, LEDGER_ERRORS, REPEATED } from './answers.ts'
import { AMOUNT, LEDGER_ID } from './door-forms.ts'
import { LEDGER } from './ledger-key.ts'
import { meterLimitsOf } from './meter-limits.ts'

const PARAM = { ...CUSTOMER_PARAM, ...METER_PARAM } as const
const PATH = '/customers/{customer_id}/ledger/{meter_id}'

const LOT = named(
  'LedgerLot',
  object({
    number: needed(WHOLE),
    kind: needed({ kind: 'choice', of: ['carried', 'allowance', 'grant', 'credit'] }),
    priority: needed(WHOLE, 'lower pays first, within a kind'),
    effective_at: needed(TIME),
    expires_at: orNull(TIME),
    issued: needed(WHOLE),
    remaining: needed(WHOLE),
    held: needed(WHOLE),
  }),
)

const ACCOUNT = object({
  meter: needed(WORDS),
  period: orNull(object({ start: needed(TIME), end: needed(TIME) })),
  used: needed({ kind: 'integer' }, 'in the period'),
  debt: needed(WHOLE),
  open_holds: needed(WHOLE),
  lots: needed(list(LOT)),
})

const ENTRY = named(
  'LedgerEntry',
  object({
    number: needed(WHOLE, '1, 2, 3, … within the account, without a gap'),
    id: orNull(WORDS, 'as the caller named it; null: the ledger made it'),
    kind: needed(WORDS),
    lot: needed({ kind: 'integer' }, '0: the overdraft; -1: paid for by nothing'),
    amount: needed(WHOLE),
    reserved: orNull(WHOLE),
    at: needed(TIME, 'when it was booked'),
    event_at: needed(TIME, 'when it happened'),
    corrects: orNull(WHOLE, 'the number of the entry that it corrects'),
    note: orNull(WORDS),
  }),
)

const STATEMENT = {
  start: needed(TIME),
  end: needed(TIME),
  state: needed({ kind: 'choice', of: ['open', 'ended', 'closed'] }),
  closed_at: orNull(TIME),
  totals: needed(
    object({
      opening: needed({ kind: 'integer' }),
      issued: needed(WHOLE),
      carried: needed({ kind: 'integer' }),
      used: needed({ kind: 'integer' }),
      lapsed: needed(WHOLE),
      unpaid: needed({ kind: 'integer' }),
      closing: needed({ kind: 'integer' }),
    }),
  ),
} as const

const COLUMNS = ['number', 'id', 'kind', 'lot', 'amount', 'reserved', 'at', 'event_at', 'corrects', 'note']

function entryJson(entry: Entry) {
  const { number, id, kind, lot, amount, reserved, atMs, eventAtMs, corrects, note } = entry
  return {
    number,
    id: id ?? null,
    kind,
    lot,
    amount,
    reserved: reserved ?? null,
    at: timeText(atMs),
    event_at: timeText(eventAtMs),
    corrects: corrects ?? null,
    note: note ?? null,
  }
}

function accountJson({ meterId, periodStartMs, periodEndMs, used, debt, openHolds, lots }: ShownAccount) {
  const period =
    periodStartMs === undefined || periodEndMs === undefined
      ? null
      : { start: timeText(periodStartMs), end: timeText(periodEndMs) }
  const shown = lots.map(({ effectiveAtMs, expiresAtMs, ...lot }) => ({
    number: lot.number,
    kind: lot.kind,
    priority: lot.priority,
    effective_at: timeText(effectiveAtMs),
    expires_at: timeOrNull(expiresAtMs),
    issued: lot.issued,
    remaining: lot.remaining,
    held: lot.held,
  }))
  return { meter: meterId, period, used, debt, open_holds: openHolds, lots: shown }
}

function statementJson({ startMs, endMs, state, closedAtMs, totals, closing }: Statement) {
  const shown = { ...totals, closing }
  return { start: timeText(startMs), end: timeText(endMs), state, closed_at: timeOrNull(closedAtMs), totals: shown }
}

type InAccount = Pick<Call, 'parts' | 'by'> & {
  readonly params: { readonly customer_id: string; readonly meter_id: string }
}

/** Plans what a person asks of the ledger: an entry, with who made it in the audit log. */
function planned(call: InAccount, asked: Exclude<LedgerOperation, { kind: 'look' }>): Change {
  const { customer_id: customer, meter_id: meter } = call.params
  return {
    changes: [{ kind: 'ledger', before: undefined, after: { customer, meter, ...asked } }],
    commit: async (by = call.by) => {
      const answer = await call.parts.get(LEDGER).change(customer, meter, asked, by)
      const outcome = doneOf(answer, { customer, meter })
      if (outcome.kind === 'refused') throw invalid('body', 'it cannot be refused')
      const id = 'id' in asked ? asked.id : ''
      return { body: { ...doneJson(id, outcome), balance: balanceJson(answer.balance!) } }
    },
  }
}

const MADE = (name: string) =>
  named(name, object({ id: needed(WORDS), amount: needed(WHOLE), repeated: REPEATED, balance: needed(BALANCE) }))

export const LEDGER_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'readLedger',
    method: 'GET',
    path: '/customers/{customer_id}/ledger',
    tag: 'ledger',
    role: 'viewer',
    summary: 'what a customer has of every meter: periods, lots, holds and debts, as of the last operation on each',
    params: CUSTOMER_PARAM,
    answer: { status: 200, schema: object({ accounts: needed(list(ACCOUNT)) }) },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const { customer_id: customer } = call.params
      await load(call, 'customers', customer)
      const accounts = await call.parts.get(LEDGER).accounts(customer)
      return { body: { accounts: accounts.map(accountJson) } }
    },
  }),
  operation({
    kind: 'change',
    id: 'issueQuota',
    method: 'POST',
    path: `${PATH}/issues`,
    tag: 'ledger',
    role: 'operator',
    summary: 'give a grant, or book credit that was bought',
    params: PARAM,
    body: named(
      'NewIssue',
      object({
        id: needed(LEDGER_ID, 'chosen by the caller: the same id is booked once'),
        kind: needed({ kind: 'choice', of: ['grant', 'credit'] }),
        amount: needed(AMOUNT),
        priority: optional({ kind: 'integer', min: 0, max: 100 }, 'lower pays first; 50 by default'),
        ...SPAN,
        reason: optional(REASON),
      }),
    ),
    answer: { status: 200, schema: MADE('Issued') },
    errors: LEDGER_ERRORS,
    plan: async (call) => {
      const { id, kind: lotKind, amount, priority, effective_at, expires_at, reason } = call.body
      const effectiveAtMs = timeOf(effective_at, 'body.effective_at')
      const expiresAtMs = timeOf(expires_at, 'body.expires_at')
      if (expiresAtMs !== undefined && expiresAtMs <= (effectiveAtMs ?? call.nowMs)) {
        throw invalid('body.expires_at', 'it would end before it begins')
      }
      const more = { priority: priority ?? undefined, effectiveAtMs, expiresAtMs, note: reason ?? undefined }
      return planned(call, { kind: 'issue', id, lotKind, amount, ...more })
    },
  }),
  operation({
    kind: 'change',
    id: 'correctUse',
    method: 'POST',
    path: `${PATH}/corrections`,
    tag: 'ledger',
    role: 'operator',
    summary: 'give back what was booked under an id, by a new entry that names it',
    params: PARAM,
    body: named(
      'NewCorrection',
      object({
        id: needed(LEDGER_ID),
        corrects: needed(LEDGER_ID, 'the id of the reservation or event'),
        amount: needed(AMOUNT, 'how much of it'),
        reason: optional(REASON),
      }),
    ),
    answer: { status: 200, schema: MADE('Corrected') },
    errors: LEDGER_ERRORS,
    plan: async (call) => {
      const { id, corrects, amount, reason } = call.body
      return planned(call, { kind: 'correct', id, corrects, amount, note: reason ?? undefined })
    },
  }),
  operation({
    kind: 'look',
    id: 'readStatement',
    method: 'GET',
    path: `${PATH}/statement`,
    tag: 'ledger',
    role: 'viewer',
    summary: 'a period: its totals, and its entries in the order of booking',
    params: PARAM,
    query: {
      at: { schema: text(40), doc: 'a time in the period; now by default' },
      format: { schema: { kind: 'choice', of: ['json', 'csv'] }, doc: 'json by default' },
    },
    isPaged: true,
    answer: {
      status: 200,
      schema: named('Statement', object({ ...STATEMENT, items: needed(list(ENTRY)), next_cursor: orNull(WORDS) })),
      types: ['text/csv'],
    },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const { customer_id: customerId, meter_id: meterId } = call.params
      const { at, format = 'json' } = call.query
      const { page_size: limit = DEFAULT_PAGE_SIZE } = call.query as { page_size?: number }
      const after = Number(call.cursor.after ?? 0)
      const query = { customerId, meterId, after, limit }
      const found = await call.parts.get(LEDGER).statement(query, timeOf(at, 'query.at'))
      if (found === undefined) throw unknownRecord('ledger', `${customerId}/${meterId}`)
      const next = call.cursor.next(found.next === undefined ? undefined : String(found.next))
      const items = found.entries.map(entryJson)
      if (format === 'json') return { body: { ...statementJson(found), items, next_cursor: next } }
      return {
        headers: { ...downloadAs('statement.csv'), ...(next !== null && { 'Sluice-Next-Cursor': next }) },
        text: { type: 'text/csv; charset=utf-8', text: csvOf(COLUMNS, items) },
      }
    },
  }),
  operation({
    kind: 'change',
    id: 'closePeriod',
    method: 'POST',
    path: `${PATH}/close`,
    tag: 'ledger',
    role: 'admin',
    summary: 'close a period that has ended, before its grace for late events is over',
    params: PARAM,
    body: named('PeriodToClose', object({ start: needed(TIME, 'of the period'), reason: optional(REASON) })),
    answer: { status: 200, schema: named('Closed', object({ balance: needed(BALANCE) })) },
    errors: ['RECORD_UNKNOWN', 'LEDGER_PERIOD_OPEN', 'LEDGER_BUSY'],
    plan: async (call) => planned(call, { kind: 'close', periodMs: timeOf(call.body.start, 'body.start') ?? 0 }),
  }),
  operation({
    kind: 'look',
    id: 'readBalanceAt',
    method: 'GET',
    path: `${PATH}/balance`,
    tag: 'ledger',
    role: 'viewer',
    summary: 'what an account had at a time, from its entries alone',
    params: PARAM,
    query: { at: { schema: text(40), required: true, doc: 'what was booked until then' } },
    answer: {
      status: 200,
      schema: object({ at: needed(TIME), balance: needed(WHOLE, 'what its lots had left'), debt: needed(WHOLE) }),
    },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const { customer_id: customerId, meter_id: meterId } = call.params
      const atMs = timeOf(call.query.at, 'query.at') ?? 0
      const found = await call.parts.get(LEDGER).balanceAt(customerId, meterId, atMs)
      if (found === undefined) throw unknownRecord('ledger', `${customerId}/${meterId}`)
      return { body: { at: timeText(atMs), balance: found.balance, debt: found.debt } }
    },
  }),
  operation({
    kind: 'look',
    id: 'reconcileLedger',
    method: 'GET',
    path: '/ledger/reconcile',
    tag: 'ledger',
    role: 'admin',
    summary: 'what the ledger booked for rules with a meter, compared with their usage, by customer and period',
    answer: {
      status: 200,
      schema: object({
        periods: needed(WHOLE, 'that were compared'),
        meters: needed(list(object({ meter: needed(WORDS), drift: needed(WHOLE, 'of all accounts, either way') }))),
        drifts: needed(
          list(
            object({
              customer: needed(WORDS),
              meter: needed(WORDS),
              start: needed(TIME),
              end: needed(TIME),
              booked: needed({ kind: 'integer' }),
              usage: needed({ kind: 'integer' }),
              drift: needed({ kind: 'integer' }, 'booked, less usage'),
            }),
          ),
          'the largest first, up to 1,000; what agrees is left out',
        ),
      }),
    },
    run: async (call) => {
      const limits = meterLimitsOf(call.parts.get(RULES)())
      const { periods, meters, drifts } = await call.parts.get(LEDGER).reconcile(limits)
      const shown = drifts.map(({ customerId: customer, meterId: meter, startMs, endMs, ...sums }) => ({
        customer,
        meter,
        start: timeText(startMs),
        end: timeText(endMs),
        ...sums,
      }))
      return { body: { periods, meters: [...meters].map(([meter, drift]) => ({ meter, drift })), drifts: shown } }
    },
  }),
  operation({
    kind: 'look',
    id: 'verifyLedger',
    method: 'GET',
    path: '/ledger/verify',
    tag: 'ledger',
    role: 'admin',
    summary: 'whether every balance, hold, debt and period is what the entries say, and all accounts sum to zero',
    answer: {
      status: 200,
      schema: object({
        ok: needed(YES_OR_NO),
        accounts: needed(WHOLE),
        entries: needed(WHOLE),
        sum: needed({ kind: 'integer' }),
        problems: needed(list(object({ customer: needed(WORDS), meter: needed(WORDS), problem: needed(WORDS) }))),
      }),
    },
    run: async (call) => {
      const { ok, accounts, entries, sum, problems } = await call.parts.get(LEDGER).verify()
      const shown = problems.map(({ customerId, meterId, problem }) => ({
        customer: customerId,
        meter: meterId,
        problem,
      }))
      return { body: { ok, accounts, entries, sum, problems: shown } }
    },
  }),
]
