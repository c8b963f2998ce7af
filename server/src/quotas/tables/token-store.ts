import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { got, SluiceError } from 'sluice/internal/core/errors'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Actor, Database } from '../ports.ts'

export type Role = 'viewer' | 'operator' | 'admin'

export const ROLES: readonly Role[] = ['viewer', 'operator', 'admin']

/** A Token lets somebody use the admin API. What was handed out is not kept. */
export interface Token {
  readonly id: string
  readonly name: string
  /** The first characters, for people. */
  readonly prefix: string
  readonly role: Role
  readonly createdAtMs: number
  /** To the minute. */
  readonly lastUsedAtMs: number | undefined
  readonly revokedAtMs: number | undefined
}

interface TokenRow {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly role: Role
  readonly created_at: number
  readonly last_used_at: number | null
  readonly revoked_at: number | null
}

const MS = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::int8 AS ${column}`
const COLUMNS = `id, name, prefix, role, ${MS('created_at')}, ${MS('last_used_at')}, ${MS('revoked_at')}`

const WRITE_EVERY_MS = 60_000
const PREFIX = 'sluice_'

/** A TokenStore keeps tokens as hashes. They are random and long: nobody guesses one from its SHA-256. */
export class TokenStore {
  readonly #db: Database
  readonly #audit: AuditLog
  readonly #now: () => number
  readonly #used = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(db: Database, audit: AuditLog, now: () => number = Date.now) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  /** create makes a token. Its text is told this once. */
  async create(name: string, role: Role, by: Actor): Promise<{ readonly token: Token; readonly text: string }> {
    if (!ROLES.includes(role)) throw new SluiceError('RECORD_INVALID', 'role', got(role))
    const text = `${PREFIX}${randomBytes(32).toString('base64url')}`
    const token = {
      id: randomUUID(),
      name,
      prefix: text.slice(0, PREFIX.length + 4),
      role,
      createdAtMs: this.#now(),
      lastUsedAtMs: undefined,
      revokedAtMs: undefined,
    }
    await this.#audit.record(by, async (tx) => {
      await tx.query(
        `INSERT INTO sluice.tokens (id, name, hash, prefix, role, created_at)
         VALUES ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000))`,
        [token.id, name, hashOf(text), token.prefix, role, token.createdAtMs],
      )
      return { result: undefined, entries: [entryOf('create', undefined, token)] }
    })
    return { token, text }
  }

  /** find returns the token of a text, if it is one and was not revoked, and notes that it was used. */
  async find(text: string): Promise<Token | undefined> {
    const [row] = await this.#db.query<TokenRow>(
      `SELECT ${COLUMNS} FROM sluice.tokens WHERE hash = $1 AND revoked_at IS NULL`,
      [hashOf(text)],
    )
    if (row === undefined) return undefined
    this.#note(row.id)
    return tokenOf(row)
  }

  /** list returns all, the newest first, revoked ones too. */
  async list(): Promise<readonly Token[]> {
    await this.flush()
    const rows = await this.#db.query<TokenRow>(`SELECT ${COLUMNS} FROM sluice.tokens ORDER BY created_at DESC, id`)
    return rows.map(tokenOf)
  }

  /** revoke takes effect with the next request. It returns whether there was such a token to revoke. */
  revoke(id: string, by: Actor): Promise<boolean> {
    return this.#audit.record(by, async (tx) => {
      const [row] = await tx.query<TokenRow>(
        `UPDATE sluice.tokens SET revoked_at = to_timestamp($2::float8 / 1000)
         WHERE id = $1 AND revoked_at IS NULL RETURNING ${COLUMNS}`,
        [id, this.#now()],
      )
      if (row === undefined) return { result: false, entries: [] }
      const after = tokenOf(row)
      return { result: true, entries: [entryOf('revoke', { ...after, revokedAtMs: undefined }, after)] }
    })
  }

  /** hasAny tells whether there is a token that can be used. */
  async hasAny(): Promise<boolean> {
    return (await this.#db.query('SELECT 1 FROM sluice.tokens WHERE revoked_at IS NULL LIMIT 1')).length > 0
  }

  /** Uses are written together, once a minute. */
  #note(id: string): void {
    this.#used.set(id, this.#now())
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), WRITE_EVERY_MS).unref()
  }

  /** flush writes which tokens were used. */
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

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

const tokenOf = (row: TokenRow): Token => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  role: row.role,
  createdAtMs: row.created_at,
  lastUsedAtMs: row.last_used_at ?? undefined,
  revokedAtMs: row.revoked_at ?? undefined,
})

const entryOf = (what: 'create' | 'revoke', before: Token | undefined, after: Token) => ({
  action: `tokens.${what}`,
  target: `tokens/${after.id}`,
  customerId: undefined,
  before: before && JSON.stringify(before),
  after: JSON.stringify(after),
})
