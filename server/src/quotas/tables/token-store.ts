import { got, SluiceError } from 'sluice/internal/core/errors'
import { type AdminToken, ROLES, tokens } from '../../admin/tokens/table.ts'
import type { Row } from '../../records/record-table.ts'
import type { Actor } from '../audit/actor.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Database, Sql } from '../database/database.ts'
import { selectList } from '../records/record-sql.ts'
import { KnownTokens } from './known-tokens.ts'

const COLUMNS = selectList(tokens)
/** A token that is good, at the time $1 in milliseconds. */
const IS_GOOD = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > to_timestamp($1::float8 / 1000))'

const WRITE_EVERY_MS = 60_000

/** Keeps tokens as hashes. They are random and long, so that none can be guessed from its SHA-256. */
export class TokenStore {
  readonly #db: Database
  readonly #audit: AuditLog
  readonly #now: () => number
  readonly #known: KnownTokens
  readonly #used = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(db: Database, audit: AuditLog, now: () => number = Date.now) {
    this.#db = db
    this.#audit = audit
    this.#now = now
    this.#known = new KnownTokens(now)
  }

  create(token: AdminToken, by: Actor): Promise<AdminToken> {
    return this.#audit.record(by, async (tx) => {
      await insert(tx, token)
      return { result: token, entries: [entryOf('create', undefined, token)] }
    })
  }

  /**
   * Keeps a token only if there is none that is good, and returns whether it did. Of nodes that start at the same time,
   * one does.
   */
  createFirst(token: AdminToken, by: Actor): Promise<boolean> {
    return this.#audit.record<boolean>(by, async (tx) => {
      await tx.query('SELECT revision FROM sluice.revision FOR UPDATE')
      const good = await tx.query(`SELECT 1 FROM sluice.tokens WHERE ${IS_GOOD} LIMIT 1`, [this.#now()])
      if (good.length > 0) return { result: false, entries: [] }
      await insert(tx, token)
      return { result: true, entries: [entryOf('create', undefined, token)] }
    })
  }

  /** Returns all tokens, the newest first, including revoked ones. */
  async list(): Promise<readonly AdminToken[]> {
    await this.flush()
    const rows = await this.#db.query<Row>(`SELECT ${COLUMNS} FROM sluice.tokens ORDER BY created_at DESC, id`)
    return rows.map(tokens.toRecord)
  }

  get(id: string): Promise<AdminToken | undefined> {
    return this.#known.through(id, () => this.#read('id', id))
  }

  find(hash: string): Promise<AdminToken | undefined> {
    return this.#known.through(hash, () => this.#read('hash', hash))
  }

  async #read(column: 'id' | 'hash', value: string): Promise<AdminToken | undefined> {
    const [row] = await this.#db.query<Row>(`SELECT ${COLUMNS} FROM sluice.tokens WHERE ${column} = $1`, [value])
    return row && tokens.toRecord(row)
  }

  async revoke(id: string, by: Actor): Promise<AdminToken | undefined> {
    await this.#audit.record(by, async (tx) => {
      const [row] = await tx.query<Row>(
        `UPDATE sluice.tokens SET revoked_at = to_timestamp($2::float8 / 1000)
         WHERE id = $1 AND revoked_at IS NULL RETURNING ${COLUMNS}`,
        [id, this.#now()],
      )
      if (row === undefined) return { result: undefined, entries: [] }
      const after = tokens.toRecord(row)
      return { result: undefined, entries: [entryOf('revoke', { ...after, revokedAtMs: undefined }, after)] }
    })
    this.#known.clear()
    return this.get(id)
  }

  /** Notes a use. Uses are written together, once a minute. */
  used(id: string, atMs: number): void {
    this.#used.set(id, atMs)
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), WRITE_EVERY_MS).unref()
  }

  /** Returns true while the database is unavailable: there may be a token, and then access without one is refused. */
  async hasAny(): Promise<boolean> {
    try {
      return (await this.#db.query(`SELECT 1 FROM sluice.tokens WHERE ${IS_GOOD} LIMIT 1`, [this.#now()])).length > 0
    } catch (error) {
      if (error instanceof SluiceError && error.code === 'DATABASE_UNAVAILABLE') return true
      throw error
    }
  }

  /** Writes which tokens were used. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#used.size === 0) return
    const used = [...this.#used].map(([id, at]) => ({ id, at }))
    this.#used.clear()
    await this.#db.query(
      `UPDATE sluice.tokens AS t SET last_used_at = greatest(t.last_used_at, to_timestamp(r.at / 1000))
       FROM jsonb_to_recordset($1::jsonb) AS r (id text, at float8) WHERE t.id = r.id`,
      [JSON.stringify(used)],
    )
  }
}

async function insert(tx: Sql, token: AdminToken): Promise<void> {
  const { id, name, hash, prefix, role, createdAtMs, expiresAtMs = null } = token
  if (!ROLES.includes(role)) throw new SluiceError('RECORD_INVALID', 'role', got(role))
  await tx.query(
    `INSERT INTO sluice.tokens (id, name, hash, prefix, role, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), to_timestamp($7::float8 / 1000))`,
    [id, name, hash, prefix, role, createdAtMs, expiresAtMs],
  )
}

const entryOf = (what: 'create' | 'revoke', before: AdminToken | undefined, after: AdminToken) => ({
  action: `tokens.${what}`,
  target: `tokens/${after.id}`,
  customerId: undefined,
  before: before && tokens.toAudit(before),
  after: tokens.toAudit(after),
})
