import type { Sql } from '../../quotas/database/database.ts'
import type { AccountBook } from '../core/account-book.ts'
import type { AccountState, Booked, EndedPeriod, Hold } from '../core/account-state.ts'
import type { Entry } from '../core/entry.ts'
import { type LotKind, PART_OF_KIND } from '../core/lot.ts'
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  ENTRY_COLUMNS,
  HOLD_COLUMNS,
  type HoldRow,
  holdOf,
  isOpenLot,
  LOT_COLUMNS,
  type LotRow,
  type LotWrite,
  lotOf,
  type Owned,
  PERIOD_COLUMNS,
  type PeriodRow,
  stateOf,
  TOTAL_NAMES,
} from './account-rows.ts'
import { arrayText, type BulkColumn, bulkOf } from './bulk.ts'

/** What the customer and the meter of an account say now. Null: it was removed. */
export interface TermsRow {
  readonly has_customer: boolean
  readonly tier: string | null
  readonly time_zone: string | null
  readonly period_anchor: string | null
}

/** A LoadedAccount is what is stored of an account, held until the commit. */
export interface LoadedAccount {
  readonly id: number
  readonly customerId: string
  readonly meterId: string
  readonly terms: TermsRow
  readonly state: AccountState
  /** By id: those that were asked for, and those whose time is over. */
  readonly holds: Map<string, Hold>
  readonly booked: Map<string, Booked[]>
}

/** A Wanted is what operations of a batch name: an account, and an id of it. */
export interface Wanted {
  readonly accountId: number
  readonly id: string
}

type Loaded = ReadonlyMap<number, LoadedAccount>

/** Holds, of one account or of many, that one transaction ends because their time is over. */
const MOST_EXPIRED = 1_000

/**
 * Takes accounts until the commit, in the order of their ids, so that transactions that want the same ones wait and
 * never lock each other out; then reads, in statements that begin after that, what they have. Returns the time by the
 * database.
 */
export async function loadAccounts(tx: Sql, ids: readonly number[]): Promise<{ accounts: Loaded; atMs: number }> {
  const own = [arrayText(ids)]
  const rows = await tx.query<AccountRow & TermsRow>(
    `SELECT a.*, c.id IS NOT NULL AS has_customer, c.tier, c.time_zone, c.period_anchor
     FROM sluice.ledger_accounts a LEFT JOIN sluice.customers c ON c.id = a.customer_id
     WHERE a.id = ANY ($1::text::int8[]) ORDER BY a.id FOR NO KEY UPDATE OF a`,
    own,
  )
  const lots = await tx.query<LotRow>(
    'SELECT * FROM sluice.ledger_lots WHERE is_open AND account_id = ANY ($1::text::int8[])',
    own,
  )
  const periods = await tx.query<PeriodRow>(
    `SELECT * FROM sluice.ledger_periods WHERE closed_at_ms IS NULL AND account_id = ANY ($1::text::int8[])
     ORDER BY start_ms`,
    own,
  )
  const [{ now_ms: atMs }] = await tx.query<{ now_ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms',
  )
  const lotsOf = grouped(lots)
  const periodsOf = grouped(periods)
  const accounts = rows.map((row) => ({
    id: row.id,
    customerId: row.customer_id,
    meterId: row.meter_id,
    terms: row,
    state: stateOf(row, lotsOf.get(row.id) ?? [], periodsOf.get(row.id) ?? []),
    holds: new Map<string, Hold>(),
    booked: new Map<string, Booked[]>(),
  }))
  return { accounts: new Map(accounts.map((account) => [account.id, account])), atMs }
}

/** Reads the holds that operations name, and holds of their accounts whose time is over. */
export async function loadHolds(tx: Sql, accounts: Loaded, wanted: readonly Wanted[], nowMs: number): Promise<void> {
  const { from, values } = bulkOf(wanted, WANTED)
  const rows = await tx.query<HoldRow>(
    `SELECT h.* FROM ${from} JOIN sluice.ledger_holds h USING (account_id, id)`,
    values,
  )
  const expired = await tx.query<HoldRow>(
    `SELECT * FROM sluice.ledger_holds WHERE expires_at_ms <= $1::int8 AND account_id = ANY ($2::text::int8[])
     ORDER BY expires_at_ms LIMIT ${MOST_EXPIRED}`,
    [nowMs, arrayText([...accounts.keys()])],
  )
  for (const row of [...rows, ...expired]) accounts.get(row.account_id)?.holds.set(row.id, holdOf(row))
}

interface BookedRow extends Omit<Booked, 'request' | 'reserved' | 'eventAtMs' | 'paidBy'> {
  readonly account_id: number
  readonly id: string
  readonly request: string | null
  readonly reserved: number | null
  readonly event_at_ms: number
  readonly lot_kind: LotKind | null
}

/** Reads the entries of ids. */
export async function loadBooked(tx: Sql, accounts: Loaded, wanted: readonly Wanted[]): Promise<void> {
  const { from, values } = bulkOf(wanted, WANTED)
  const rows = await tx.query<BookedRow>(
    `SELECT e.account_id, e.id, e.number, e.part, e.kind, e.lot, e.amount, e.reserved, e.request, e.event_at_ms, l.kind AS lot_kind,
       (SELECT coalesce(sum(r.amount), 0)::int8 FROM sluice.ledger_entries r
        WHERE r.account_id = e.account_id AND r.corrects = e.number) AS returned
     FROM ${from} JOIN sluice.ledger_entries e USING (account_id, id)
     LEFT JOIN sluice.ledger_lots l ON l.account_id = e.account_id AND l.number = e.lot
     ORDER BY e.number`,
    values,
  )
  for (const { account_id, id, request, reserved, event_at_ms, lot_kind, ...row } of rows) {
    const booked = accounts.get(account_id)?.booked
    const paidBy =
      row.kind !== 'use'
        ? undefined
        : lot_kind !== null
          ? PART_OF_KIND[lot_kind]
          : row.lot === 0
            ? 'overdraft'
            : 'unpaid'
    const { number, part, kind, lot, amount, returned } = row
    booked?.set(id, [
      ...(booked.get(id) ?? []),
      {
        number,
        part,
        kind,
        lot,
        amount,
        returned,
        paidBy,
        request: request ?? undefined,
        reserved: reserved ?? undefined,
        eventAtMs: event_at_ms,
      },
    ])
  }
}

/** Reads lots that are over, to which corrections return something. */
export async function loadLots(tx: Sql, accounts: Loaded, wanted: readonly Wanted[]): Promise<void> {
  const named = wanted.flatMap(({ accountId, id }) =>
    (accounts.get(accountId)?.booked.get(id) ?? []).map(({ lot }) => ({ accountId, lot })),
  )
  if (named.length === 0) return
  const { from, values } = bulkOf(named, [
    ['account_id', 'int8', (row) => row.accountId],
    ['number', 'int8', (row) => row.lot],
  ])
  const rows = await tx.query<LotRow>(
    `SELECT DISTINCT l.* FROM ${from} JOIN sluice.ledger_lots l USING (account_id, number) WHERE NOT l.is_open`,
    values,
  )
  for (const row of rows) accounts.get(row.account_id)?.state.lots.push(lotOf(row))
}

const WANTED: readonly BulkColumn<Wanted>[] = [
  ['account_id', 'int8', (row) => row.accountId],
  ['id', 'text', (row) => row.id],
]

/** Writes what operations changed, one statement for each table. */
export async function storeAccounts(tx: Sql, books: ReadonlyMap<number, AccountBook>): Promise<void> {
  const accounts: Owned<AccountState>[] = []
  const lots: LotWrite[] = []
  const periods: Owned<EndedPeriod>[] = []
  const newHolds: Owned<Hold>[] = []
  const oldHolds: Wanted[] = []
  const entries: Owned<Entry>[] = []
  for (const [accountId, book] of books) {
    const { state, newHolds: begun, endedHolds: ended } = book
    if (book.isChanged) accounts.push({ accountId, it: state })
    for (const lot of book.changedLots) lots.push({ accountId, lot, isOpen: isOpenLot(lot, state) })
    for (const period of book.changedPeriods) periods.push({ accountId, it: period })
    for (const hold of begun.values()) if (!ended.has(hold.id)) newHolds.push({ accountId, it: hold })
    for (const id of ended) if (!begun.has(id)) oldHolds.push({ accountId, id })
    for (const entry of book.entries) entries.push({ accountId, it: entry })
  }
  await write(tx, accounts, ACCOUNT_COLUMNS, UPDATE_ACCOUNTS)
  await write(tx, lots, LOT_COLUMNS, UPSERT_LOTS)
  await write(tx, periods, PERIOD_COLUMNS, UPSERT_PERIODS)
  await write(tx, newHolds, HOLD_COLUMNS, INSERT_HOLDS)
  await write(tx, oldHolds, WANTED, DELETE_HOLDS)
  await write(tx, entries, ENTRY_COLUMNS, INSERT_ENTRIES)
}

async function write<T>(
  tx: Sql,
  rows: readonly T[],
  columns: readonly BulkColumn<T>[],
  sqlOf: (from: string) => string,
): Promise<void> {
  if (rows.length === 0) return
  const { from, values } = bulkOf(rows, columns)
  await tx.query(sqlOf(from), values)
}

const namesOf = (columns: readonly BulkColumn<never>[]): string => columns.map(([name]) => name).join(', ')
const setsOf = (names: readonly string[], from: string): string =>
  names.map((name) => `${name} = ${from}.${name}`).join(', ')

const ACCOUNT_SETS = setsOf(
  ACCOUNT_COLUMNS.map(([name]) => name).filter((name) => name !== 'id'),
  'bulk',
)
const UPDATE_ACCOUNTS = (from: string): string =>
  `UPDATE sluice.ledger_accounts a SET ${ACCOUNT_SETS} FROM ${from} WHERE a.id = bulk.id`

const LOT_NAMES = namesOf(LOT_COLUMNS)
const UPSERT_LOTS = (from: string): string =>
  `INSERT INTO sluice.ledger_lots AS l (${LOT_NAMES})
   SELECT ${LOT_NAMES.replace('is_open', 'is_open::boolean')} FROM ${from}
   ON CONFLICT (account_id, number) DO UPDATE
   SET ${setsOf(['issued', 'carried', 'remaining', 'held', 'is_open'], 'excluded')}`

const PERIOD_NAMES = namesOf(PERIOD_COLUMNS)
const UPSERT_PERIODS = (from: string): string =>
  `INSERT INTO sluice.ledger_periods (${PERIOD_NAMES}) SELECT ${PERIOD_NAMES} FROM ${from}
   ON CONFLICT (account_id, start_ms) DO UPDATE SET ${setsOf([...TOTAL_NAMES, 'closed_at_ms'], 'excluded')}`

const HOLD_NAMES = namesOf(HOLD_COLUMNS)
const INSERT_HOLDS = (from: string): string =>
  `INSERT INTO sluice.ledger_holds (${HOLD_NAMES})
   SELECT account_id, id, amount, lots::int8[], amounts::int8[], at_ms, expires_at_ms, request FROM ${from}`
const DELETE_HOLDS = (from: string): string =>
  `DELETE FROM sluice.ledger_holds h USING ${from} WHERE h.account_id = bulk.account_id AND h.id = bulk.id`

const ENTRY_NAMES = namesOf(ENTRY_COLUMNS)
const INSERT_ENTRIES = (from: string): string =>
  `INSERT INTO sluice.ledger_entries (${ENTRY_NAMES}) SELECT ${ENTRY_NAMES} FROM ${from}`

function grouped<T extends { readonly account_id: number }>(rows: readonly T[]): Map<number, T[]> {
  const found = new Map<number, T[]>()
  for (const row of rows) {
    const own = found.get(row.account_id)
    if (own === undefined) found.set(row.account_id, [row])
    else own.push(row)
  }
  return found
}
