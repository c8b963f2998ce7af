import type { Database } from '../ports.ts'

/** What is known of a key: it is new and now taken, its first request is still under way, it was of another request, or its answer. */
export type IdempotencyState =
  | { readonly kind: 'new' | 'busy' | 'other' }
  | { readonly kind: 'done'; readonly status: number; readonly answer: string }

const KEPT_FOR = '24 hours'
/** A first request that was never finished, because its node ended, does not hold its key for longer. */
const BUSY_FOR = '1 minute'

/** IdempotencyKeys remember the answers to creations for a day, so that one which is sent twice is made once. */
export class IdempotencyKeys {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** begin takes a key of an actor, or says what became of it. `fingerprint` is that of the request. */
  async begin(actor: string, key: string, fingerprint: string): Promise<IdempotencyState> {
    const taken = await this.#db.query(
      `INSERT INTO sluice.idempotency_keys AS k (actor, key, fingerprint) VALUES ($1, $2, $3)
       ON CONFLICT (actor, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = NULL, answer = NULL, created_at = now()
       WHERE k.created_at < now() - interval '${KEPT_FOR}'
         OR (k.status IS NULL AND k.created_at < now() - interval '${BUSY_FOR}')
       RETURNING 1`,
      [actor, key, fingerprint],
    )
    if (taken.length > 0) return { kind: 'new' }
    const [found] = await this.#db.query<{ fingerprint: string; status: number | null; answer: string | null }>(
      'SELECT fingerprint, status, answer FROM sluice.idempotency_keys WHERE actor = $1 AND key = $2',
      [actor, key],
    )
    if (found === undefined) return { kind: 'busy' }
    if (found.fingerprint !== fingerprint) return { kind: 'other' }
    if (found.status === null) return { kind: 'busy' }
    return { kind: 'done', status: found.status, answer: found.answer ?? '' }
  }

  /** finish keeps the answer. */
  async finish(actor: string, key: string, status: number, answer: string): Promise<void> {
    await this.#db.query(
      'UPDATE sluice.idempotency_keys SET status = $3::int, answer = $4 WHERE actor = $1 AND key = $2',
      [actor, key, status, answer],
    )
  }

  /** forget gives a key back whose request was not carried out. */
  async forget(actor: string, key: string): Promise<void> {
    await this.#db.query('DELETE FROM sluice.idempotency_keys WHERE actor = $1 AND key = $2 AND status IS NULL', [
      actor,
      key,
    ])
  }

  /** clean removes what is too old to matter. */
  async clean(): Promise<void> {
    await this.#db.query(`DELETE FROM sluice.idempotency_keys WHERE created_at < now() - interval '${KEPT_FOR}'`)
  }
}
