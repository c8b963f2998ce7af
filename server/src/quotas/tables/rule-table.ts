import { SluiceError } from 'sluice/internal/core/errors'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Actor, Database, Sql } from '../ports.ts'

/** A RuleDocument is one version of a rule file, kept in the database. */
export interface RuleDocument {
  /** As a file has one: errors mention it. */
  readonly name: string
  readonly version: number
  /** YAML, as it was put. */
  readonly text: string
}

export interface RuleVersion {
  readonly name: string
  readonly version: number
  readonly isActive: boolean
  readonly createdAtMs: number
  readonly createdBy: string
  readonly reason: string | undefined
}

/** Where changes of rules are told. */
const CHANNEL = 'sluice_rules'

/** A RuleTable keeps versions of rule documents, and which one of each is in force. It does not look into them. */
export class RuleTable {
  readonly #db: Database
  readonly #audit: AuditLog
  readonly #now: () => number

  constructor(db: Database, audit: AuditLog, now: () => number = Date.now) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  /** active returns what is in force, in the order of names. */
  async active(): Promise<readonly RuleDocument[]> {
    return this.#db.query<RuleDocument>(
      `SELECT r.name, r.version, r.document AS text FROM sluice.active_rules a
       JOIN sluice.rule_activations x ON x.id = a.activation
       JOIN sluice.rate_limit_rules r ON r.name = x.name AND r.version = x.version ORDER BY r.name`,
    )
  }

  /** follow is told when something else may be in force. */
  follow(changed: () => void): () => void {
    return this.#db.listen(CHANNEL, changed, changed)
  }

  async get(name: string, version: number): Promise<RuleDocument | undefined> {
    const [found] = await this.#db.query<RuleDocument>(
      'SELECT name, version, document AS text FROM sluice.rate_limit_rules WHERE name = $1 AND version = $2::int',
      [name, version],
    )
    return found
  }

  /** versions returns the newest first; without a name, those of all documents. */
  async versions(name?: string): Promise<readonly RuleVersion[]> {
    const rows = await this.#db.query<Omit<RuleVersion, 'reason'> & { reason: string | null }>(
      `SELECT r.name, r.version, r.reason, r.created_by AS "createdBy", (x.version IS NOT NULL) AS "isActive",
         (extract(epoch FROM r.created_at) * 1000)::int8 AS "createdAtMs"
       FROM sluice.rate_limit_rules r
       LEFT JOIN sluice.active_rules a ON a.name = r.name
       LEFT JOIN sluice.rule_activations x ON x.id = a.activation AND x.version = r.version
       WHERE $1::text IS NULL OR r.name = $1 ORDER BY r.name, r.version DESC`,
      [name ?? null],
    )
    return rows.map((row) => ({ ...row, reason: row.reason ?? undefined }))
  }

  /** put adds a version, and returns its number. It is in force when it is activated, here or later. */
  put(name: string, text: string, by: Actor, { activate = false } = {}): Promise<number> {
    return this.#audit.record(by, async (tx) => {
      await lock(tx)
      const [{ version }] = await tx.query<{ version: number }>(
        `INSERT INTO sluice.rate_limit_rules (name, version, document, created_at, created_by, reason)
         SELECT $1, coalesce(max(version), 0) + 1, $2, to_timestamp($3::float8 / 1000), $4, $5
         FROM sluice.rate_limit_rules WHERE name = $1 RETURNING version`,
        [name, text, this.#now(), by.id, by.reason ?? null],
      )
      const added = entryOf('put', name, undefined, { version, text })
      const entries = activate ? [added, await this.#activate(tx, name, version, 'activate')] : [added]
      return { result: version, entries }
    })
  }

  /** activate puts a version in force; undefined: none of this document's. */
  activate(name: string, version: number | undefined, by: Actor): Promise<void> {
    return this.#audit.record(by, async (tx) => {
      await lock(tx)
      return { result: undefined, entries: [await this.#activate(tx, name, version, 'activate')] }
    })
  }

  /** rollback puts in force what was so before the last activation, and returns its version. Again, it goes one further back. */
  rollback(name: string, by: Actor): Promise<number | undefined> {
    return this.#audit.record(by, async (tx) => {
      await lock(tx)
      const now = await activationOf(tx, name)
      if (now === undefined) throw unknown(name, 'nothing was ever in force')
      if (now.parent === null) {
        // Before the first activation, nothing was in force.
        if (now.version === null) throw unknown(name, 'there is nothing further back')
        await tx.query('DELETE FROM sluice.active_rules WHERE name = $1', [name])
      } else await tx.query('UPDATE sluice.active_rules SET activation = $2 WHERE name = $1', [name, now.parent])
      const then = now.parent === null ? undefined : await activationOf(tx, name)
      await tell(tx)
      const [before, after] = [versionIn(now), versionIn(then)]
      return { result: after, entries: [entryOf('rollback', name, { version: before }, { version: after })] }
    })
  }

  async #activate(tx: Sql, name: string, version: number | undefined, action: 'activate') {
    if (version !== undefined) {
      const sql = 'SELECT 1 FROM sluice.rate_limit_rules WHERE name = $1 AND version = $2::int'
      if ((await tx.query(sql, [name, version])).length === 0) throw unknown(name, `there is no version ${version}`)
    }
    const now = await activationOf(tx, name)
    const [{ id }] = await tx.query<{ id: number }>(
      'INSERT INTO sluice.rule_activations (name, version, parent) VALUES ($1, $2::int, $3::int8) RETURNING id',
      [name, version ?? null, now?.id ?? null],
    )
    await tx.query(
      `INSERT INTO sluice.active_rules (name, activation) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET activation = excluded.activation`,
      [name, id],
    )
    await tell(tx)
    return entryOf(action, name, now && { version: versionIn(now) }, { version })
  }
}

interface Activation {
  readonly id: number
  readonly version: number | null
  readonly parent: number | null
}

async function activationOf(tx: Sql, name: string): Promise<Activation | undefined> {
  const [found] = await tx.query<Activation>(
    `SELECT x.id, x.version, x.parent FROM sluice.active_rules a
     JOIN sluice.rule_activations x ON x.id = a.activation WHERE a.name = $1`,
    [name],
  )
  return found
}

const versionIn = (activation: Activation | undefined): number | undefined => activation?.version ?? undefined

/** lock lets changes of rules follow each other, as changes of records do. */
const lock = (tx: Sql): Promise<unknown> => tx.query('SELECT revision FROM sluice.revision FOR UPDATE')

const tell = (tx: Sql): Promise<unknown> => tx.query("SELECT pg_notify($1, '')", [CHANNEL])

const unknown = (name: string, detail: string): SluiceError =>
  new SluiceError('DOCUMENT_VERSION_UNKNOWN', `rules/${name}`, detail)

function entryOf(action: 'put' | 'activate' | 'rollback', name: string, before: object | undefined, after: object) {
  return {
    action: `rules.${action}`,
    target: `rules/${name}`,
    customerId: undefined,
    before: before && JSON.stringify(before),
    after: JSON.stringify(after),
  }
}
