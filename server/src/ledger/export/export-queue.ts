import type { Database, Sql } from '../../quotas/database/database.ts'
import { bulkOf } from '../tables/bulk.ts'

/** A MeterEvent is what an account used between two of its entries. */
export interface MeterEvent {
  readonly accountId: number
  readonly customerId: string
  readonly meterId: string
  /** Who it is for the receiver, as the customer's metadata say. */
  readonly receiver: string
  /** The same whenever it is sent. */
  readonly identifier: string
  readonly lastEntry: number
  readonly value: number
  readonly usedAtMs: number
  /** When it was first sent, where its answer is not known. */
  readonly sentAtMs: number | undefined
}

const DAY_MS = 86_400_000
/** Entries that one event sums up at most. */
const MOST_ENTRIES = 10_000

interface AccountRow {
  readonly id: number
  readonly customer_id: string
  readonly meter_id: string
  readonly receiver: string
  readonly done_entry: number | null
}

interface SentRow {
  readonly done_entry: number
  readonly sent_entry: number | null
  readonly sent_value: number | null
  readonly used_at_ms: number | null
  readonly sent_at_ms: number | null
}

interface EntryRow {
  readonly number: number
  readonly amount: number
  readonly at_ms: number
}

/**
 * An ExportQueue makes events of what accounts have used since their last event. Each is written down before it is sent,
 * and sent again as it was until its answer is known.
 */
export class ExportQueue {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns the accounts of meters that have something to export, and whose customer is known to the receiver. */
  accounts(meterIds: readonly string[], metadataKey: string): Promise<readonly AccountRow[]> {
    const { from, values } = bulkOf(meterIds, [['meter_id', 'text', (id) => id]])
    return this.#db.query<AccountRow>(
      `SELECT a.id, a.customer_id, a.meter_id, c.metadata ->> $2 AS receiver, x.done_entry
       FROM ${from} JOIN sluice.ledger_accounts a USING (meter_id) JOIN sluice.customers c ON c.id = a.customer_id
       LEFT JOIN sluice.ledger_exports x ON x.account_id = a.id
       WHERE c.metadata ->> $2 <> '' AND a.last_entry > coalesce(x.done_entry, 0) ORDER BY a.id`,
      [...values, metadataKey],
    )
  }

  /** Returns the next event of an account, which is written down by then. Undefined: there is none. */
  next({ id, customer_id, meter_id, receiver }: AccountRow, nowMs: number): Promise<MeterEvent | undefined> {
    return this.#db.transaction(async (tx) => {
      await tx.query('INSERT INTO sluice.ledger_exports (account_id) VALUES ($1) ON CONFLICT DO NOTHING', [id])
      const [row] = await tx.query<SentRow>('SELECT * FROM sluice.ledger_exports WHERE account_id = $1 FOR UPDATE', [
        id,
      ])
      const about = { accountId: id, customerId: customer_id, meterId: meter_id, receiver }
      if (row.sent_entry !== null) {
        const sent = { lastEntry: row.sent_entry, value: row.sent_value!, usedAtMs: row.used_at_ms! }
        return { ...about, ...sent, identifier: identifierOf(id, row.sent_entry), sentAtMs: row.sent_at_ms! }
      }
      const found = nextOf(await entriesAfter(tx, id, row.done_entry))
      if (found === undefined) return undefined
      await tx.query(
        `UPDATE sluice.ledger_exports SET sent_entry = $2, sent_value = $3, used_at_ms = $4, sent_at_ms = $5
         WHERE account_id = $1`,
        [id, found.lastEntry, found.value, found.usedAtMs, nowMs],
      )
      return { ...about, ...found, identifier: identifierOf(id, found.lastEntry), sentAtMs: undefined }
    })
  }

  /** Notes that the receiver does not want an event: the export determines again what it would take. */
  async refused({ accountId, lastEntry }: MeterEvent): Promise<void> {
    await this.#db.query(
      `UPDATE sluice.ledger_exports SET sent_entry = NULL, sent_value = NULL, used_at_ms = NULL, sent_at_ms = NULL
       WHERE account_id = $1 AND sent_entry = $2`,
      [accountId, lastEntry],
    )
  }

  /** Notes that the receiver has an event. A second note changes nothing. */
  async done({ accountId, lastEntry }: MeterEvent): Promise<void> {
    await this.#db.query(
      `UPDATE sluice.ledger_exports SET done_entry = sent_entry, sent_entry = NULL, sent_value = NULL, used_at_ms = NULL,
         sent_at_ms = NULL WHERE account_id = $1 AND sent_entry = $2`,
      [accountId, lastEntry],
    )
  }
}

const identifierOf = (accountId: number, lastEntry: number): string => `sluice-${accountId}-${lastEntry}`

/** What was used counts, less what was given back; nothing paid for what is unpaid, so nobody is billed for it. */
const entriesAfter = (tx: Sql, accountId: number, after: number): Promise<readonly EntryRow[]> =>
  tx.query<EntryRow>(
    `SELECT number, CASE kind WHEN 'use' THEN amount ELSE -amount END AS amount, at_ms FROM sluice.ledger_entries
     WHERE account_id = $1 AND number > $2 AND kind IN ('use', 'return') AND lot >= 0 ORDER BY number LIMIT ${MOST_ENTRIES}`,
    [accountId, after],
  )

/**
 * Sums entries up to the end of a day of UTC, so that an event is of the day on which it was used. Where more was given
 * back than used, the next day is added: a receiver takes no negative values.
 */
function nextOf(entries: readonly EntryRow[]): Pick<MeterEvent, 'lastEntry' | 'value' | 'usedAtMs'> | undefined {
  let value = 0
  for (const [i, { number, amount, at_ms }] of entries.entries()) {
    value += amount
    const next = entries[i + 1]
    const isLastOfDay = next === undefined || Math.floor(next.at_ms / DAY_MS) !== Math.floor(at_ms / DAY_MS)
    if (isLastOfDay && value > 0) return { lastEntry: number, value, usedAtMs: at_ms }
  }
  return undefined
}
