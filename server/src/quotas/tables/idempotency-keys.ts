import { SluiceError } from 'sluice/internal/core/errors'
import type { WholeDatabase } from '../database/database.ts'

/** What is stored under an idempotency key. Only a caller that knows the key can read `sealed`. */
export interface KeptAnswer {
  readonly fingerprint: string
  /** Undefined: the first request is still running. */
  readonly sealed: string | undefined
}

/** An IdempotencyStore remembers the answers to creations for 24 hours, under a hash of who asked and the key. */
export interface IdempotencyStore {
  /**
   * Returns what is stored under an id; undefined: it was free, and is the caller's now. It throws
   * IDEMPOTENCY_KEYS_TOO_MANY.
   */
  claim(id: string, owner: string, fingerprint: string): Promise<KeptAnswer | undefined>
  /** Does what a claim is for, and fills it with what `seal` makes of the result: both, or neither. */
  fill<T>(id: string, work: () => Promise<T>, seal: (result: T) => string): Promise<T>
  /** Frees a claim for which nothing was done. */
  free(id: string): Promise<void>
}

const KEPT_FOR = '24 hours'
/** A first request that was never finished, because its node ended, does not hold its key for longer. */
const BUSY_FOR = '1 minute'
const MOST_OF_ONE = 1_000
const MOST = 10_000
const CLEAN_EVERY = 100

/** Remembers the answers to creations for a day, on all nodes, so that a creation that is sent twice happens once. */
export class IdempotencyKeys implements IdempotencyStore {
  readonly #db: WholeDatabase
  #claims = 0

  constructor(db: WholeDatabase) {
    this.#db = db
  }

  async claim(id: string, owner: string, fingerprint: string): Promise<KeptAnswer | undefined> {
    if (this.#claims++ % CLEAN_EVERY === 0) await this.clean()
    const taken = await this.#db.query(
      `INSERT INTO sluice.idempotency_keys AS k (id, owner, fingerprint) SELECT $1, $2, $3
       WHERE (SELECT count(*) FROM sluice.idempotency_keys WHERE owner = $2) < ${MOST_OF_ONE}
         AND (SELECT count(*) FROM sluice.idempotency_keys) < ${MOST}
       ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, answer = NULL, created_at = now()
       WHERE ${isOver('k')} RETURNING 1`,
      [id, owner, fingerprint],
    )
    if (taken.length > 0) return undefined
    const [found] = await this.#db.query<{ fingerprint: string; answer: string | null }>(
      'SELECT fingerprint, answer FROM sluice.idempotency_keys WHERE id = $1',
      [id],
    )
    if (found !== undefined) return { fingerprint: found.fingerprint, sealed: found.answer ?? undefined }
    throw new SluiceError('IDEMPOTENCY_KEYS_TOO_MANY', 'idempotency-key', 'of this token, or of all')
  }

  /**
   * A change and the answer to it are one transaction: after a crash there are both, or neither. A request that took
   * longer than its claim lasts commits nothing if another has taken the claim over and was faster.
   */
  fill<T>(id: string, work: () => Promise<T>, seal: (result: T) => string): Promise<T> {
    return this.#db.atomically(async () => {
      const result = await work()
      const filled = await this.#db.query(
        'UPDATE sluice.idempotency_keys SET answer = $2 WHERE id = $1 AND answer IS NULL RETURNING 1',
        [id, seal(result)],
      )
      if (filled.length === 1) return result
      throw new SluiceError('IDEMPOTENCY_IN_PROGRESS', 'idempotency-key', 'a repetition of this request was faster')
    })
  }

  async free(id: string): Promise<void> {
    await this.#db.query('DELETE FROM sluice.idempotency_keys WHERE id = $1 AND answer IS NULL', [id])
  }

  /** Removes what is too old to matter. */
  async clean(): Promise<void> {
    await this.#db.query(`DELETE FROM sluice.idempotency_keys k WHERE ${isOver('k')}`)
  }
}

const isOver = (row: string): string => `(${row}.created_at < now() - interval '${KEPT_FOR}'
  OR (${row}.answer IS NULL AND ${row}.created_at < now() - interval '${BUSY_FOR}'))`
