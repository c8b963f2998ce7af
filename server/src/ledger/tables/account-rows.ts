import type { AccountState, EndedPeriod, Hold } from '../core/account-state.ts'
import type { Entry } from '../core/entry.ts'
import { freeOf, type Lot, type LotKind } from '../core/lot.ts'
import type { BulkColumn } from './bulk.ts'

// How the parts of an account are rows. Times are milliseconds, so that neither driver makes dates of them.

/** An Owned is a row of an account. */
export interface Owned<T> {
  readonly accountId: number
  readonly it: T
}

interface TotalsRow {
  readonly opening: number
  readonly issued: number
  readonly carried: number
  readonly used: number
  readonly lapsed: number
  readonly unpaid: number
}

export interface AccountRow extends TotalsRow {
  readonly id: number
  readonly customer_id: string
  readonly meter_id: string
  readonly period_start_ms: number | null
  readonly period_end_ms: number | null
  readonly balance: number
  readonly debt: number
  readonly debt_held: number
  readonly last_entry: number
  readonly last_lot: number
  readonly allowance_lot: number
  readonly had: number
}

export interface LotRow {
  readonly account_id: number
  readonly number: number
  readonly kind: LotKind
  readonly priority: number
  readonly effective_at_ms: number
  readonly expires_at_ms: number | null
  readonly lapses_at_ms: number | null
  readonly issued: number
  readonly carried: number
  readonly remaining: number
  readonly held: number
}

export interface PeriodRow extends TotalsRow {
  readonly account_id: number
  readonly start_ms: number
  readonly end_ms: number
}

export interface HoldRow {
  readonly account_id: number
  readonly id: string
  readonly amount: number
  readonly lots: readonly number[]
  readonly amounts: readonly number[]
  readonly at_ms: number
  readonly expires_at_ms: number
  readonly request: string
}

const NEVER = Number.POSITIVE_INFINITY
const orNever = (ms: number | null): number => ms ?? NEVER
const finite = (ms: number): number | undefined => (ms === NEVER ? undefined : ms)

const totalsOf = ({ opening, issued, carried, used, lapsed, unpaid }: TotalsRow): AccountState['totals'] => ({
  opening,
  issued,
  carried,
  used,
  lapsed,
  unpaid,
})

export function stateOf(row: AccountRow, lots: readonly LotRow[], periods: readonly PeriodRow[]): AccountState {
  const { period_start_ms: startMs, period_end_ms: endMs } = row
  return {
    period: startMs === null || endMs === null ? undefined : { startMs, endMs },
    totals: totalsOf(row),
    balance: row.balance,
    debt: row.debt,
    debtHeld: row.debt_held,
    lastEntry: row.last_entry,
    lastLot: row.last_lot,
    allowanceLot: row.allowance_lot,
    had: row.had,
    lots: lots.map(lotOf),
    ended: periods.map((each) => ({
      startMs: each.start_ms,
      endMs: each.end_ms,
      totals: totalsOf(each),
      closedAtMs: undefined,
    })),
  }
}

export function lotOf(row: LotRow): Lot {
  const { number, kind, priority, issued, carried, remaining, held } = row
  return {
    number,
    kind,
    priority,
    effectiveAtMs: row.effective_at_ms,
    expiresAtMs: orNever(row.expires_at_ms),
    lapsesAtMs: orNever(row.lapses_at_ms),
    issued,
    carried,
    remaining,
    held,
  }
}

/** PGlite gives arrays of bigint as they are, pg as texts. */
export function holdOf({ id, amount, lots, amounts, at_ms, expires_at_ms, request }: HoldRow): Hold {
  const claims = lots.map((lot, i) => ({ lot: Number(lot), amount: Number(amounts[i]) }))
  return { id, amount, claims, atMs: at_ms, expiresAtMs: expires_at_ms, request }
}

export const TOTAL_NAMES = ['opening', 'issued', 'carried', 'used', 'lapsed', 'unpaid'] as const

type StateRow = Owned<AccountState>

export const ACCOUNT_COLUMNS: readonly BulkColumn<StateRow>[] = [
  ['id', 'int8', ({ accountId }) => accountId],
  ['period_start_ms', 'int8', ({ it }) => it.period?.startMs],
  ['period_end_ms', 'int8', ({ it }) => it.period?.endMs],
  ...totalColumns<StateRow>(({ it }) => it.totals),
  ['balance', 'int8', ({ it }) => it.balance],
  ['debt', 'int8', ({ it }) => it.debt],
  ['debt_held', 'int8', ({ it }) => it.debtHeld],
  ['last_entry', 'int8', ({ it }) => it.lastEntry],
  ['last_lot', 'int8', ({ it }) => it.lastLot],
  ['allowance_lot', 'int8', ({ it }) => it.allowanceLot],
  ['had', 'int8', ({ it }) => it.had],
]

/**
 * `isOpen`: it has something left, or is the allowance of the period. Others are not read again, unless a correction
 * names them.
 */
export interface LotWrite {
  readonly accountId: number
  readonly lot: Lot
  readonly isOpen: boolean
}

export const LOT_COLUMNS: readonly BulkColumn<LotWrite>[] = [
  ['account_id', 'int8', (row) => row.accountId],
  ['number', 'int8', ({ lot }) => lot.number],
  ['kind', 'text', ({ lot }) => lot.kind],
  ['priority', 'int8', ({ lot }) => lot.priority],
  ['effective_at_ms', 'int8', ({ lot }) => lot.effectiveAtMs],
  ['expires_at_ms', 'int8', ({ lot }) => finite(lot.expiresAtMs)],
  ['lapses_at_ms', 'int8', ({ lot }) => finite(lot.lapsesAtMs)],
  ['issued', 'int8', ({ lot }) => lot.issued],
  ['carried', 'int8', ({ lot }) => lot.carried],
  ['remaining', 'int8', ({ lot }) => lot.remaining],
  ['held', 'int8', ({ lot }) => lot.held],
  ['is_open', 'text', ({ isOpen }) => String(isOpen)],
]

export const isOpenLot = (lot: Lot, { allowanceLot }: AccountState): boolean =>
  freeOf(lot) > 0 || lot.held > 0 || lot.number === allowanceLot

export const PERIOD_COLUMNS: readonly BulkColumn<Owned<EndedPeriod>>[] = [
  ['account_id', 'int8', ({ accountId }) => accountId],
  ['start_ms', 'int8', ({ it }) => it.startMs],
  ['end_ms', 'int8', ({ it }) => it.endMs],
  ...totalColumns<Owned<EndedPeriod>>(({ it }) => it.totals),
  ['closed_at_ms', 'int8', ({ it }) => it.closedAtMs],
]

/** Arrays of arrays would have to be of one length: what a hold claims is a text for each. */
export const HOLD_COLUMNS: readonly BulkColumn<Owned<Hold>>[] = [
  ['account_id', 'int8', ({ accountId }) => accountId],
  ['id', 'text', ({ it }) => it.id],
  ['amount', 'int8', ({ it }) => it.amount],
  ['lots', 'text', ({ it }) => `{${it.claims.map(({ lot }) => lot).join(',')}}`],
  ['amounts', 'text', ({ it }) => `{${it.claims.map(({ amount }) => amount).join(',')}}`],
  ['at_ms', 'int8', ({ it }) => it.atMs],
  ['expires_at_ms', 'int8', ({ it }) => it.expiresAtMs],
  ['request', 'text', ({ it }) => it.request],
]

export const ENTRY_COLUMNS: readonly BulkColumn<Owned<Entry>>[] = [
  ['account_id', 'int8', ({ accountId }) => accountId],
  ['number', 'int8', ({ it }) => it.number],
  ['id', 'text', ({ it }) => it.id],
  ['part', 'int8', ({ it }) => it.part],
  ['kind', 'text', ({ it }) => it.kind],
  ['lot', 'int8', ({ it }) => it.lot],
  ['amount', 'int8', ({ it }) => it.amount],
  ['request', 'text', ({ it }) => it.request],
  ['reserved', 'int8', ({ it }) => it.reserved],
  ['at_ms', 'int8', ({ it }) => it.atMs],
  ['event_at_ms', 'int8', ({ it }) => it.eventAtMs],
  ['period_ms', 'int8', ({ it }) => it.periodMs],
  ['corrects', 'int8', ({ it }) => it.corrects],
  ['note', 'text', ({ it }) => it.note],
]

function totalColumns<T>(of: (row: T) => AccountState['totals']): readonly BulkColumn<T>[] {
  return TOTAL_NAMES.map((name) => [name, 'int8', (row: T) => of(row)[name]] as const)
}
