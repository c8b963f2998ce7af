import type { Anchor } from '../audit/anchor.ts'
import { AuditLog } from '../audit/audit-log.ts'
import { FileAnchor } from '../audit/file-anchor.ts'
import { HeadSignatures } from '../audit/signed-head.ts'
import type { AuditReport } from '../audit/verify-audit.ts'
import { Backoff } from '../database/backoff.ts'
import type { Database } from '../database/database.ts'
import { type DatabaseHealth, GatedDatabase } from '../database/gated-database.ts'
import { migrate, requireSchema } from '../database/migrate.ts'
import { type DatabasePlace, openDatabase } from '../database/open-database.ts'
import { RecordStore } from '../records/record-store.ts'
import { ApiKeyHash } from '../tables/api-key-hash.ts'
import { IdempotencyKeys } from '../tables/idempotency-keys.ts'
import { NodeTable } from '../tables/node-table.ts'
import { RuleTable } from '../tables/rule-table.ts'
import { SecretKeys } from '../tables/secret-keys.ts'
import { TokenStore } from '../tables/token-store.ts'
import { UsageStore } from '../tables/usage-store.ts'

/** Everything that is stored in the database. Until it is open, every call fails with DATABASE_UNAVAILABLE. */
export interface Quotas {
  readonly db: Database
  readonly store: RecordStore
  readonly audit: AuditLog
  readonly apiKeys: ApiKeyHash
  /** Keys of the installation, one for each purpose. */
  readonly keys: SecretKeys
  readonly tokens: TokenStore
  readonly usage: UsageStore
  readonly rules: RuleTable
  readonly nodes: NodeTable
  readonly idempotency: IdempotencyKeys
  /** Brings the schema up to date, and rejects when it cannot. It may be tried again. */
  open(): Promise<void>
  health(): DatabaseHealth
  verifyAudit(): Promise<AuditReport>
  close(): Promise<void>
}

export interface QuotaOptions {
  /** SLUICE_SECRET. */
  readonly secret?: string | undefined
  /** Where the head of the audit log is kept, too. PGlite's own is the default. */
  readonly dataDir?: string | undefined
  /** What else knows the end of the audit log. They are closed with the quotas. */
  readonly anchors?: readonly Anchor[]
  /** true: rejects with DATABASE_EMPTY where no node has ever opened the database. By default the schema is created. */
  readonly isThere?: boolean
  readonly now?: () => number
  readonly refreshEveryMs?: number
}

/** Opens a database, brings its schema up to date, and rejects when it cannot. */
export async function openQuotas(place: DatabasePlace, options: QuotaOptions = {}): Promise<Quotas> {
  const quotas = await quotasAt(place, options)
  try {
    await quotas.open()
    return quotas
  } catch (error) {
    await quotas.close()
    throw error
  }
}

/** Makes quotas of a place that is opened later: only an invalid address fails. */
export async function quotasAt(place: DatabasePlace, options: QuotaOptions = {}): Promise<Quotas> {
  const dataDir = options.dataDir ?? ('dataDir' in place ? place.dataDir : undefined)
  return makeQuotas(await openDatabase(place), { ...options, dataDir })
}

/** Opens quotas on an open database. */
export async function quotasOn(db: Database, options: QuotaOptions = {}): Promise<Quotas> {
  const quotas = makeQuotas(db, options)
  await quotas.open()
  return quotas
}

function makeQuotas(raw: Database, options: QuotaOptions): Quotas {
  const { now = Date.now, refreshEveryMs, dataDir, anchors = [] } = options
  const db = new GatedDatabase(raw)
  const keys = new SecretKeys(options.secret)
  const file = dataDir === undefined ? undefined : new FileAnchor(dataDir)
  const signatures = new HeadSignatures(() => keys.keyFor('audit'))
  const audit = new AuditLog(db, signatures, { file, others: anchors }, now)
  const tokens = new TokenStore(db, audit, now)
  return {
    db,
    keys,
    audit,
    tokens,
    store: new RecordStore(db, audit, { now, ...(refreshEveryMs !== undefined && { refreshEveryMs }) }),
    apiKeys: new ApiKeyHash(keys),
    usage: new UsageStore(db, now),
    rules: new RuleTable(db, audit, now),
    nodes: new NodeTable(db),
    idempotency: new IdempotencyKeys(db),
    open: () =>
      db.openWith(async (it) => {
        if (options.isThere) await requireSchema(it)
        await migrate(it)
        await keys.open(it)
        await audit.begin(it)
      }),
    health: () => db.health,
    verifyAudit: () => audit.report(),
    async close() {
      await tokens.flush().catch(() => {})
      await Promise.allSettled(anchors.map((anchor) => anchor.close?.()))
      await db.close()
    },
  }
}

export interface Attempts {
  /** Receives each failure. Throwing ends the attempts, with that error. */
  failed(error: unknown): void
  readonly signal?: AbortSignal
}

/** Retries until it succeeds, or until the signal, when it resolves with undefined. */
export async function keepOpening<T>(open: () => Promise<T>, { failed, signal }: Attempts): Promise<T | undefined> {
  const backoff = new Backoff(200, 10_000)
  while (signal?.aborted !== true) {
    try {
      return await open()
    } catch (error) {
      failed(error)
      await pause(backoff.nextMs(), signal)
    }
  }
  return undefined
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
    function done(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
  })
}
