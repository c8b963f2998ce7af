import type { Database } from '../database/database.ts'

/**
 * Leases let one node at a time do a piece of work. They end by the clock of the database, if their holder is silent.
 */
export class Leases {
  readonly #db: Database
  readonly #holder: string

  /** `holder` identifies this node and no other. */
  constructor(db: Database, holder: string) {
    this.#db = db
    this.#holder = holder
  }

  /** Takes a free or expired lease, or extends the one that this node holds. Returns whether this node holds it now. */
  async take(name: string, forMs: number): Promise<boolean> {
    const rows = await this.#db.query(
      `INSERT INTO sluice.leases AS held (name, holder, until) VALUES ($1, $2, now() + $3::float8 * interval '1 millisecond')
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
       WHERE held.holder = excluded.holder OR held.until <= now() RETURNING 1 AS taken`,
      [name, this.#holder, forMs],
    )
    return rows.length > 0
  }

  /** Releases the lease, so that the next holder need not wait until it ends. */
  async giveBack(name: string): Promise<void> {
    await this.#db.query('DELETE FROM sluice.leases WHERE name = $1 AND holder = $2', [name, this.#holder])
  }
}
