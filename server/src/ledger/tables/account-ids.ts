import type { Database } from '../../quotas/database/database.ts'

const MOST = 100_000

export type UnknownAccount = { readonly kind: 'unknown'; readonly what: 'customer' | 'meter' }

/**
 * AccountIds finds the number of the account of a customer and a meter, and makes the account when it is first asked
 * for.
 */
export class AccountIds {
  readonly #db: Database
  readonly #known = new Map<string, number>()
  readonly #asked = new Map<string, Promise<number | UnknownAccount>>()

  constructor(db: Database) {
    this.#db = db
  }

  find(customerId: string, meterId: string): number | Promise<number | UnknownAccount> {
    const key = JSON.stringify([customerId, meterId])
    return this.#known.get(key) ?? this.#asked.get(key) ?? this.#ask(key, customerId, meterId)
  }

  forget(customerId: string, meterId: string): void {
    this.#known.delete(JSON.stringify([customerId, meterId]))
  }

  #ask(key: string, customerId: string, meterId: string): Promise<number | UnknownAccount> {
    const asked = this.#read(customerId, meterId)
      .then((found) => {
        if (typeof found === 'number') this.#keep(key, found)
        return found
      })
      .finally(() => this.#asked.delete(key))
    this.#asked.set(key, asked)
    return asked
  }

  /** Of a customer that was removed there may be an account. */
  async #read(customerId: string, meterId: string): Promise<number | UnknownAccount> {
    const [row] = await this.#db.query<{ id: number | null; has_meter: boolean; has_customer: boolean }>(
      `WITH made AS (
         INSERT INTO sluice.ledger_accounts (customer_id, meter_id)
         SELECT c.id, m.id FROM sluice.customers c, sluice.meters m WHERE c.id = $1 AND m.id = $2
           AND NOT EXISTS (SELECT FROM sluice.ledger_accounts WHERE customer_id = $1 AND meter_id = $2)
         ON CONFLICT DO NOTHING RETURNING id)
       SELECT coalesce((SELECT id FROM made), (SELECT id FROM sluice.ledger_accounts WHERE customer_id = $1 AND meter_id = $2)) AS id,
         EXISTS (SELECT FROM sluice.meters WHERE id = $2) AS has_meter,
         EXISTS (SELECT FROM sluice.customers WHERE id = $1) AS has_customer`,
      [customerId, meterId],
    )
    if (row.id !== null) return row.id
    if (!row.has_meter) return { kind: 'unknown', what: 'meter' }
    // Another node made it after this statement began: the next one sees it.
    return row.has_customer ? this.#read(customerId, meterId) : { kind: 'unknown', what: 'customer' }
  }

  #keep(key: string, id: number): void {
    if (this.#known.size >= MOST) this.#known.clear()
    this.#known.set(key, id)
  }
}
