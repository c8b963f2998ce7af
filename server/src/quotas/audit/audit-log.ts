import type { Database, Page, Sql, WholeDatabase } from '../database/database.ts'
import { AUDIT_KINDS } from '../model.ts'
import type { Actor } from './actor.ts'
import type { Anchor, AnchoredHead } from './anchor.ts'
import {
  type AuditHead,
  type AuditRow,
  auditRow,
  BEFORE_GENESIS,
  COLUMNS,
  genesis,
  type NewEntry,
  NO_ENTRY,
  SLUICE,
} from './audit-entry.ts'
import { readCursor, writeCursor } from './cursor.ts'
import type { FileAnchor } from './file-anchor.ts'
import type { HeadSignatures, SignedHead } from './signed-head.ts'
import { type AuditReport, verifyAudit } from './verify-audit.ts'

/** An AuditEntry is one change that was made. */
export interface AuditEntry {
  readonly sequence: number
  readonly atMs: number
  readonly actor: Actor
  /** Such as `customers.put`, `tokens.revoke`, `counters.reset`. */
  readonly action: string
  /** What was changed: the kind of record and its id. */
  readonly target: { readonly kind: string; readonly id: string }
  readonly customerId: string | undefined
  readonly before: unknown
  readonly after: unknown
  /** In hex; chained to that of the entry before. */
  readonly hash: string
}

export interface AuditQuery {
  /** The id or the name of an actor. */
  readonly actor?: string | undefined
  readonly action?: string | undefined
  /** What was changed is of one of these kinds, such as `tiers`. */
  readonly kinds?: readonly string[] | undefined
  readonly target?: string | undefined
  /** The sequence of the newest entry that is wanted. */
  readonly upTo?: number | undefined
  readonly customerId?: string | undefined
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
  readonly after?: string | undefined
  readonly limit: number
}

/** An AuditVerification says whether the chain of entries is whole. */
export interface AuditVerification {
  readonly ok: boolean
  readonly entries: number
  readonly head: string | undefined
  /** The first entry that is wrong, and why. */
  readonly broken: { readonly sequence: number; readonly reason: string } | undefined
  /** What outside of the database the end was compared with. */
  readonly anchors: readonly string[]
  /** Anchors with which it was not compared, and why. */
  readonly unread: readonly { readonly anchor: string; readonly reason: string }[]
}

const MOST = 1000
const AT_ONCE = 5000

/** An AppendedHead is the end of the log behind entries that were appended, and what they follow. */
export interface AppendedHead extends SignedHead {
  readonly previous: AuditHead
}

/** A place outside of the database that keeps the end of the log. */
export interface AuditAnchors {
  readonly file?: FileAnchor | undefined
  readonly others?: readonly Anchor[]
}

/** The audit log. Entries are only added, within the transaction of the change that they record. */
export class AuditLog {
  readonly #db: WholeDatabase
  readonly #signatures: HeadSignatures
  readonly #file: FileAnchor | undefined
  readonly #now: () => number
  readonly anchors: readonly Anchor[]
  /** Called after a commit that appended entries. */
  onCommitted: () => void = () => {}

  constructor(
    db: WholeDatabase,
    signatures: HeadSignatures,
    { file, others = [] }: AuditAnchors = {},
    now: () => number = Date.now,
  ) {
    this.#db = db
    this.#signatures = signatures
    this.#file = file
    this.anchors = file === undefined ? others : [file, ...others]
    this.#now = now
  }

  /**
   * Writes and signs the first entry of a new database, number 0, so that an empty log is never taken for a whole one.
   * A database that already has changes or a head gets none: there, a missing beginning is an error, and `verify` says
   * so.
   */
  async begin(db: Database): Promise<void> {
    const head = await db.transaction(async (tx) => {
      if (!(await isNew(tx))) return undefined
      const row = auditRow(BEFORE_GENESIS, genesis(), SLUICE, this.#now())
      await tx.query(INSERT, [JSON.stringify([row])])
      const signed = this.#signatures.sign(row)
      await tx.query('INSERT INTO sluice.audit_head (sequence, hash, signature) VALUES ($1, $2, $3)', [
        signed.sequence,
        signed.hash,
        signed.signature,
      ])
      return { ...signed, previous: BEFORE_GENESIS }
    })
    if (head !== undefined) this.committed(head)
  }

  /** Adds entries to the log. The caller holds the log until the commit; call `committed` after it. */
  async append(tx: Sql, entries: readonly NewEntry[], by: Actor): Promise<AppendedHead> {
    const previous = await this.#lockHead(tx)
    let head = previous
    const atMs = this.#now()
    const rows = entries.map((entry) => {
      const row = auditRow(head, entry, by, atMs)
      head = row
      return row
    })
    for (let at = 0; at < rows.length; at += AT_ONCE) {
      await tx.query(INSERT, [JSON.stringify(rows.slice(at, at + AT_ONCE))])
    }
    const signed = this.#signatures.sign(head)
    await tx.query('UPDATE sluice.audit_head SET sequence = $1, hash = $2, signature = $3', [
      signed.sequence,
      signed.hash,
      signed.signature,
    ])
    return { ...signed, previous }
  }

  /**
   * Returns the last entry, and lets no one else append before the commit. Entries go on behind a head that is missing
   * or was not signed by us, but not from its hash: what follows would look whole.
   */
  async #lockHead(tx: Sql): Promise<AuditHead> {
    await tx.query(
      `INSERT INTO sluice.audit_head (sequence, hash, signature)
       SELECT coalesce(max(sequence), 0), '', '' FROM sluice.audit ON CONFLICT (only_row) DO NOTHING`,
    )
    const [head] = await tx.query<SignedHead>('SELECT sequence, hash, signature FROM sluice.audit_head FOR UPDATE')
    return this.#signatures.isSigned(head) ? head : { sequence: head.sequence, hash: LOST }
  }

  /** Stores the head outside of the database, too, once the surrounding transaction is committed. */
  committed(head: AppendedHead): void {
    this.#db.afterCommit(() => {
      this.#file?.follow(head.previous, head)
      this.onCommitted()
    })
  }

  /**
   * Brings the end of the log to an anchor that the log continues. Returns false for one that knows an entry that the
   * log does not have: it stays as it is.
   */
  async keep(anchor: Anchor): Promise<boolean> {
    const there = await anchor.read()
    const [head] = await this.#db.query<SignedHead & { readonly known: string | null }>(
      `SELECT sequence, hash, signature, (SELECT hash FROM sluice.audit WHERE sequence = $1::int8) AS known FROM sluice.audit_head`,
      [there?.sequence ?? BEFORE_GENESIS.sequence],
    )
    if (head === undefined || !this.#signatures.isSigned(head)) return false
    if (there?.sequence === head.sequence) return there.hash === head.hash
    // A log that an older version began has no entry 0.
    const known = there?.sequence === NO_ENTRY.sequence ? (head.known ?? NO_ENTRY.hash) : head.known
    if (there !== undefined && (known !== there.hash || !this.#isGenuine(there))) return false
    await anchor.replace?.(there, this.#signatures.sign(head))
    return true
  }

  async isReachable(): Promise<boolean> {
    try {
      await this.#db.query('SELECT sequence FROM sluice.audit_head')
      return true
    } catch {
      return false
    }
  }

  #isGenuine({ sequence, hash, signature }: AnchoredHead): boolean {
    return signature === undefined || this.#signatures.isSigned({ sequence, hash, signature })
  }

  /** Appends in a transaction with other work, which returns the entries. */
  async record<T>(by: Actor, work: (tx: Sql) => Promise<{ result: T; entries: readonly NewEntry[] }>): Promise<T> {
    let head: AppendedHead | undefined
    const done = await this.#db.transaction(async (tx) => {
      const { result, entries } = await work(tx)
      if (entries.length > 0) head = await this.append(tx, entries, by)
      return result
    })
    if (head !== undefined) this.committed(head)
    return done
  }

  /** Returns entries, the newest first. */
  async list(query: AuditQuery): Promise<Page<AuditEntry>> {
    const limit = Math.min(Math.max(Math.trunc(query.limit), 1), MOST)
    const before = query.after === undefined ? undefined : Number(readCursor(query.after, 'audit'))
    const rows = await this.#db.query<AuditRow>(
      `SELECT ${COLUMNS} FROM sluice.audit
       WHERE sequence > 0 AND ($1::text IS NULL OR actor_id = $1 OR actor_name = $1) AND ($2::text IS NULL OR action = $2)
         AND ($3::text[] IS NULL OR target = ANY($3)) AND ($4::text IS NULL OR customer_id = $4)
         AND ($5::int8 IS NULL OR at_ms >= $5) AND ($6::int8 IS NULL OR at_ms < $6)
         AND ($7::int8 IS NULL OR sequence < $7) AND ($8::int8 IS NULL OR sequence <= $8)
         AND ($9::text[] IS NULL OR split_part(target, '/', 1) = ANY($9))
       ORDER BY sequence DESC LIMIT $10::int`,
      [
        query.actor ?? null,
        query.action ?? null,
        query.target === undefined ? null : targetsOf(query.target),
        query.customerId ?? null,
        query.fromMs ?? null,
        query.toMs ?? null,
        before ?? null,
        query.upTo ?? null,
        query.kinds ?? null,
        limit + 1,
      ],
    )
    const items = rows.slice(0, limit).map(entryOf)
    return { items, next: rows.length > limit ? writeCursor('audit', String(items[limit - 1].sequence)) : undefined }
  }

  /** Reads the whole log, and reports everything that is wrong with it. */
  report(): Promise<AuditReport> {
    return verifyAudit(this.#db, this.#signatures, this.anchors)
  }

  async verify(): Promise<AuditVerification> {
    const { entries, head, problems, anchors, unread } = await this.report()
    const [first] = [...problems].sort((a, b) => a.sequence - b.sequence)
    return {
      ok: first === undefined,
      entries,
      head: head.hash === '' ? undefined : head.hash,
      anchors,
      unread,
      broken: first && { sequence: first.sequence, reason: first.what },
    }
  }

  /**
   * Returns what a sink has not confirmed yet, the oldest first. Entries are in the order of commits: none comes late.
   */
  async unconfirmed(sink: string, limit: number): Promise<readonly AuditRow[]> {
    return this.#db.query<AuditRow>(
      `SELECT ${COLUMNS} FROM sluice.audit
       WHERE sequence > coalesce((SELECT sequence FROM sluice.sink_positions WHERE sink = $1), 0)
       ORDER BY sequence LIMIT $2::int`,
      [sink, limit],
    )
  }

  /** Records that a sink has everything up to an entry. It never goes back. */
  async confirm(sink: string, sequence: number): Promise<void> {
    await this.#db.query(
      `INSERT INTO sluice.sink_positions (sink, sequence) VALUES ($1, $2)
       ON CONFLICT (sink) DO UPDATE SET sequence = excluded.sequence, confirmed_at = now()
       WHERE sluice.sink_positions.sequence < excluded.sequence`,
      [sink, sequence],
    )
  }
}

const INSERT = `INSERT INTO sluice.audit (${COLUMNS}) SELECT ${COLUMNS} FROM jsonb_to_recordset($1::jsonb) AS r (
  sequence int8, at_ms int8, actor_id text, actor_name text, action text, target text, customer_id text, before text, after text,
  reason text, address text, previous text, hash text)`

/** What entries follow whose predecessor is not known. */
const LOST = 'lost'

/** Says whether nothing was ever changed in a database, and makes others that ask wait for the answer. */
async function isNew(tx: Sql): Promise<boolean> {
  await tx.query('SELECT revision FROM sluice.revision FOR UPDATE')
  const [{ is_new }] = await tx.query<{ is_new: boolean }>(
    `SELECT (SELECT revision FROM sluice.revision) = 0 AND NOT EXISTS (SELECT FROM sluice.audit_head)
       AND NOT EXISTS (SELECT FROM sluice.audit) AND NOT EXISTS (SELECT FROM sluice.tokens)
       AND NOT EXISTS (SELECT FROM sluice.sink_positions) AS is_new`,
  )
  return is_new
}

/** Returns every target that an id may mean. One that is written with its kind stands for itself. */
function targetsOf(id: string): readonly string[] {
  return [id, ...AUDIT_KINDS.map((kind) => `${kind}/${id}`)]
}

function entryOf(row: AuditRow): AuditEntry {
  const slash = row.target.indexOf('/')
  return {
    sequence: row.sequence,
    atMs: row.at_ms,
    actor: {
      id: row.actor_id,
      name: row.actor_name,
      address: row.address ?? undefined,
      reason: row.reason ?? undefined,
    },
    action: row.action,
    target: { kind: row.target.slice(0, slash), id: row.target.slice(slash + 1) },
    customerId: row.customer_id ?? undefined,
    before: valueIn(row.before),
    after: valueIn(row.after),
    hash: row.hash,
  }
}

/** A text that is no JSON was not written by this program: it is shown as it is. */
function valueIn(text: string | null): unknown {
  if (text === null) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
