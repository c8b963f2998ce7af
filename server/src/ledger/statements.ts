import type { Database } from '../quotas/database/database.ts'
import { closingOf, type Entry, type EntryKind, type Totals } from './core/entry.ts'
import type { LotKind } from './core/lot.ts'
import type { AccountRow } from './tables/account-rows.ts'

/** A ShownLot is a lot that has something left, or pays in the period. */
export interface ShownLot {
  readonly number: number
  readonly kind: LotKind
  readonly priority: number
  readonly effectiveAtMs: number
  readonly expiresAtMs: number | undefined
  readonly issued: number
  readonly remaining: number
  readonly held: number
}

export interface ShownAccount {
  readonly meterId: string
  readonly periodStartMs: number | undefined
  readonly periodEndMs: number | undefined
  readonly used: number
  readonly debt: number
  readonly openHolds: number
  readonly lots: readonly ShownLot[]
}

/** A LedgerPage is what an account had at a time. */
export interface LedgerPage {
  readonly balance: number
  readonly debt: number
}

/** A Statement is what a period did, and a page of its entries. */
export interface Statement {
  readonly startMs: number
  readonly endMs: number
  /** `open` takes entries, `ended` takes events that happened in it, and `closed` nothing any more. */
  readonly state: 'open' | 'ended' | 'closed'
  readonly closedAtMs: number | undefined
  readonly totals: Totals
  readonly closing: number
  readonly entries: readonly Entry[]
  /** The number after which the next page begins. */
  readonly next: number | undefined
}

interface PeriodRow extends Totals {
  readonly account_id: number
  readonly start_ms: number
  readonly end_ms: number
  readonly state: Statement['state']
  readonly closed_at_ms: number | null
}

interface EntryRow {
  readonly number: number
  readonly id: string | null
  readonly part: number
  readonly kind: EntryKind
  readonly lot: number
  readonly amount: number
  readonly request: string | null
  readonly reserved: number | null
  readonly at_ms: number
  readonly event_at_ms: number
  readonly period_ms: number
  readonly corrects: number | null
  readonly note: string | null
}

const PERIODS = `
  SELECT p.account_id, p.start_ms, p.end_ms, p.opening, p.issued, p.carried, p.used, p.lapsed, p.unpaid, p.closed_at_ms,
    CASE WHEN p.closed_at_ms IS NULL THEN 'ended' ELSE 'closed' END AS state
  FROM sluice.ledger_periods p JOIN a ON a.id = p.account_id
  UNION ALL SELECT id, period_start_ms, period_end_ms, opening, issued, carried, used, lapsed, unpaid, NULL, 'open'
  FROM a WHERE period_start_ms IS NOT NULL`

const ACCOUNT = 'a AS (SELECT * FROM sluice.ledger_accounts WHERE customer_id = $1 AND meter_id = $2)'

/** StatementReader reads what the ledger has written. It takes no locks. */
export class StatementReader {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  accounts(customerId: string): Promise<readonly ShownAccount[]> {
    return this.#db.transaction(
      async (tx) => {
        const accounts = await tx.query<AccountRow & { open_holds: number }>(
          `SELECT a.*, (SELECT count(*) FROM sluice.ledger_holds h WHERE h.account_id = a.id) AS open_holds
           FROM sluice.ledger_accounts a WHERE customer_id = $1 ORDER BY meter_id LIMIT 1000`,
          [customerId],
        )
        const lots = await tx.query<LotOf>(
          `SELECT l.* FROM sluice.ledger_lots l JOIN sluice.ledger_accounts a ON a.id = l.account_id
           WHERE a.customer_id = $1 AND l.is_open ORDER BY l.number LIMIT 10000`,
          [customerId],
        )
        return accounts.map((row) =>
          shownAccount(
            row,
            lots.filter(({ account_id }) => account_id === row.id),
          ),
        )
      },
      { snapshot: true },
    )
  }

  statement(query: StatementQuery, atMs: number | undefined): Promise<Statement | undefined> {
    const { customerId, meterId, after, limit } = query
    return this.#db.transaction(
      async (tx) => {
        const [period] = await tx.query<PeriodRow>(
          `WITH ${ACCOUNT}, periods AS (${PERIODS}) SELECT * FROM periods
           WHERE $3::int8 IS NULL AND state = 'open' OR (start_ms <= $3::int8 AND $3::int8 < end_ms)`,
          [customerId, meterId, atMs ?? null],
        )
        if (period === undefined) return undefined
        const rows = await tx.query<EntryRow>(
          `SELECT * FROM sluice.ledger_entries WHERE account_id = $1 AND period_ms = $2 AND number > $3
           ORDER BY number LIMIT $4`,
          [period.account_id, period.start_ms, after, limit + 1],
        )
        const entries = rows.slice(0, limit).map(entryOf)
        return { ...shownPeriod(period), entries, next: rows.length > limit ? entries.at(-1)?.number : undefined }
      },
      { snapshot: true },
    )
  }

  async balanceAt(customerId: string, meterId: string, atMs: number): Promise<LedgerPage | undefined> {
    const [row] = await this.#db.query<LedgerPage>(
      `WITH ${ACCOUNT} SELECT
         coalesce(sum(CASE WHEN e.lot <= 0 THEN 0 WHEN e.kind IN ('issue', 'carry_in', 'return') THEN e.amount
           WHEN e.kind IN ('use', 'lapse', 'carry_out', 'repay') THEN -e.amount ELSE 0 END), 0)::int8 AS balance,
         coalesce(sum(CASE WHEN e.kind = 'repay' THEN -e.amount WHEN e.lot <> 0 THEN 0 WHEN e.kind = 'use' THEN e.amount
           WHEN e.kind = 'return' THEN -e.amount ELSE 0 END), 0)::int8 AS debt
       FROM a LEFT JOIN sluice.ledger_entries e ON e.account_id = a.id AND e.at_ms <= $3::int8 GROUP BY a.id`,
      [customerId, meterId, atMs],
    )
    return row
  }
}

interface StatementQuery {
  readonly customerId: string
  readonly meterId: string
  readonly after: number
  readonly limit: number
}

interface LotOf {
  readonly account_id: number
  readonly number: number
  readonly kind: LotKind
  readonly priority: number
  readonly effective_at_ms: number
  readonly expires_at_ms: number | null
  readonly issued: number
  readonly remaining: number
  readonly held: number
}

function shownAccount(row: AccountRow & { open_holds: number }, lots: readonly LotOf[]): ShownAccount {
  return {
    meterId: row.meter_id,
    periodStartMs: row.period_start_ms ?? undefined,
    periodEndMs: row.period_end_ms ?? undefined,
    used: row.used,
    debt: row.debt,
    openHolds: row.open_holds,
    lots: lots.map(({ account_id: _, effective_at_ms, expires_at_ms, ...lot }) => ({
      ...lot,
      effectiveAtMs: effective_at_ms,
      expiresAtMs: expires_at_ms ?? undefined,
    })),
  }
}

function shownPeriod(row: PeriodRow): Omit<Statement, 'entries' | 'next'> {
  const { opening, issued, carried, used, lapsed, unpaid } = row
  const totals = { opening, issued, carried, used, lapsed, unpaid }
  return {
    startMs: row.start_ms,
    endMs: row.end_ms,
    state: row.state,
    closedAtMs: row.closed_at_ms ?? undefined,
    totals,
    closing: closingOf(totals),
  }
}

function entryOf(row: EntryRow): Entry {
  const { number, part, kind, lot, amount } = row
  return {
    number,
    id: row.id ?? undefined,
    part,
    kind,
    lot,
    amount,
    request: row.request ?? undefined,
    reserved: row.reserved ?? undefined,
    atMs: row.at_ms,
    eventAtMs: row.event_at_ms,
    periodMs: row.period_ms,
    corrects: row.corrects ?? undefined,
    note: row.note ?? undefined,
  }
}
