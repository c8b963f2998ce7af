import { SluiceError } from 'sluice/internal/core/errors'
import { loadRules } from 'sluice/internal/core/rules/load'
import type { RuleFigures } from 'sluice/internal/core/rules/rule-memory'
import type { Actor } from '../audit/actor.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { readCursor, writeCursor } from '../audit/cursor.ts'
import { RULES_TABLE } from '../book/in-force.ts'
import type { Database, ListQuery, Page, Sql } from '../database/database.ts'

/** A RuleVersion is one text of rules that the table has had. */
export interface RuleVersion {
  readonly version: number
  readonly isActive: boolean
  readonly createdAtMs: number
  readonly by: string
  readonly comment: string | undefined
  readonly limits: number
  readonly domains: readonly string[]
}

/** A RuleCheck compiles a text together with the other sources. It throws a RulesError. */
export type RuleCheck = (text: string) => Promise<RuleFigures>

/** A text that is right, and what it comes to. */
export interface CheckedRules extends RuleFigures {
  readonly text: string
}

/** How a text comes to be put. */
export interface Putting {
  readonly by: Actor
  readonly comment?: string | undefined
  /** The version that the caller has seen in force. */
  readonly version?: number | undefined
  /** `activate`: it is the text of a former version. Default: `put`. */
  readonly action?: 'put' | 'activate'
}

interface RuleRow {
  readonly version: number
  readonly active: boolean
  readonly created_at: number
  readonly created_by: string
  readonly comment: string | null
  readonly limits: number
  readonly domains: readonly string[]
  readonly document: string
}

/** The channel on which changes of rules are announced. */
const CHANNEL = 'sluice_rules'

const HEAD = `version, version = (SELECT max(version) FROM sluice.rate_limit_rules) AS active, created_by, comment, limits, domains,
  (extract(epoch FROM created_at) * 1000)::int8 AS created_at`

const MOST = 1000

/** A RuleTable keeps versions of rules. The newest one is in force. */
export class RuleTable {
  readonly #db: Database
  readonly #audit: AuditLog
  readonly #now: () => number
  #check: RuleCheck = async (text) => figuresOf(text)

  constructor(db: Database, audit: AuditLog, now: () => number = Date.now) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  /** Sets the check that compiles texts together with other sources. Without it, they are compiled alone. */
  checkWith(check: RuleCheck): void {
    this.#check = check
  }

  /** Calls `changed` when another version may be in force. Returns a function that ends this. */
  follow(changed: () => void): () => void {
    return this.#db.listen(CHANNEL, changed, changed)
  }

  async versions({ after, limit }: Pick<ListQuery, 'after' | 'limit'>): Promise<Page<RuleVersion>> {
    const size = Math.min(Math.max(Math.trunc(limit) || 1, 1), MOST)
    const before = after === undefined ? null : Number(readCursor(after, 'rules'))
    const rows = await this.#db.query<RuleRow>(
      `SELECT ${HEAD} FROM sluice.rate_limit_rules WHERE $1::int IS NULL OR version < $1
       ORDER BY version DESC LIMIT $2::int`,
      [before, size + 1],
    )
    const items = rows.slice(0, size).map(versionOf)
    return { items, next: rows.length > size ? writeCursor('rules', String(items[size - 1].version)) : undefined }
  }

  async read(version?: number): Promise<(RuleVersion & { readonly text: string }) | undefined> {
    const [row] = await this.#db.query<RuleRow>(
      `SELECT ${HEAD}, document FROM sluice.rate_limit_rules WHERE $1::int IS NULL OR version = $1
       ORDER BY version DESC LIMIT 1`,
      [version ?? null],
    )
    return row && { ...versionOf(row), text: row.document }
  }

  /** Compiles a text. It throws a RulesError with everything that is wrong. */
  async check(text: string): Promise<CheckedRules> {
    return { text, ...(await this.#check(text)) }
  }

  /** Puts a checked text in force, as a new version. */
  put({ text, ...figures }: CheckedRules, putting: Putting): Promise<RuleVersion> {
    const { by, comment, version: seen, action = 'put' } = putting
    return this.#audit.record(by, async (tx) => {
      const active = await activeIn(tx)
      if (seen !== undefined && seen !== active) {
        throw new SluiceError('VERSION_STALE', 'rules', `got version ${seen}, and it is ${active}`)
      }
      const made: RuleVersion = {
        version: active + 1,
        isActive: true,
        createdAtMs: this.#now(),
        by: by.name,
        comment,
        limits: figures.limits,
        domains: figures.domains,
      }
      await tx.query(
        `INSERT INTO sluice.rate_limit_rules (version, document, limits, domains, comment, created_at, created_by)
         VALUES ($1::int, $2, $3::int, $4::jsonb, $5, to_timestamp($6::float8 / 1000), $7)`,
        [made.version, text, made.limits, JSON.stringify(made.domains), comment ?? null, made.createdAtMs, by.name],
      )
      await tx.query("SELECT pg_notify($1, '')", [CHANNEL])
      const before = active === 0 ? undefined : JSON.stringify({ version: active })
      const after = JSON.stringify({ version: made.version, comment, text })
      const entry = { action: `rules.${action}`, target: 'rules/active', customerId: undefined, before, after }
      return { result: made, entries: [entry] }
    })
  }
}

/** Returns the version in force, or 0. Changes of rules follow each other, as changes of records do. */
async function activeIn(tx: Sql): Promise<number> {
  await tx.query('SELECT revision FROM sluice.revision FOR UPDATE')
  const sql = 'SELECT coalesce(max(version), 0)::int AS version FROM sluice.rate_limit_rules'
  const [{ version }] = await tx.query<{ version: number }>(sql)
  return version
}

/** Compiles a text alone. */
export function figuresOf(text: string): RuleFigures {
  const { ruleCount, domains } = loadRules([{ file: RULES_TABLE, text }])
  return { limits: ruleCount, domains: [...domains.keys()] }
}

const versionOf = (row: RuleRow): RuleVersion => ({
  version: row.version,
  isActive: row.active,
  createdAtMs: row.created_at,
  by: row.created_by,
  comment: row.comment ?? undefined,
  limits: row.limits,
  domains: row.domains,
})
