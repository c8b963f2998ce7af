import { SluiceError } from 'sluice/internal/core/errors'
import type { Database, Sql } from './database.ts'
import { MIGRATIONS, type Migration } from './migrations/migrations.ts'

/**
 * Nodes that migrate at the same time wait for each other here. Any number will do that nothing else uses: "sluice" in
 * bytes.
 */
const LOCK = 0x736c75696365

const TEN_MINUTES_MS = 10 * 60_000

/**
 * Brings the schema to the version of this program. It may run on several nodes at the same time. A schema that is
 * newer throws SCHEMA_NEWER, and nothing is changed. Where nothing is to do, it only reads.
 */
export async function migrate(db: Database, migrations: readonly Migration[] = MIGRATIONS): Promise<void> {
  const newest = migrations.at(-1)?.version ?? 0
  const isCurrent = await db.transaction(async (tx) => isAt(newest, await versionOf(tx)))
  if (isCurrent) return
  await db.transaction(
    async (tx) => {
      // The wait for another node is longer than that for any row.
      await tx.query('SET LOCAL lock_timeout = 0')
      await tx.query(`SELECT pg_advisory_xact_lock(${LOCK})`)
      const version = await versionOf(tx)
      if (isAt(newest, version)) return
      if (version === 0) await prepare(tx)
      for (const each of migrations) if (each.version > version) await apply(tx, each)
    },
    { statementTimeoutMs: TEN_MINUTES_MS },
  )
}

/** Throws DATABASE_EMPTY where no node has ever migrated, and changes nothing. */
export async function requireSchema(db: Database): Promise<void> {
  const version = await db.transaction(versionOf)
  if (version === 0) throw new SluiceError('DATABASE_EMPTY', 'database', 'it has no schema "sluice"')
}

/** Creates the schema unless an administrator has: even IF NOT EXISTS asks for the right to make it. */
async function prepare(tx: Sql): Promise<void> {
  const [{ there }] = await tx.query<{ there: boolean }>(HAS_SCHEMA)
  if (!there) await tx.query('CREATE SCHEMA sluice')
  await tx.query(`CREATE TABLE IF NOT EXISTS sluice.migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
  )`)
}

async function apply(tx: Sql, { version, name, sql }: Migration): Promise<void> {
  await tx.query(sql)
  await tx.query('INSERT INTO sluice.migrations (version, name) VALUES ($1, $2)', [version, name])
}

// Read as rows: to_regclass() answers from a cache, which may be older than the wait for another node's migration.
const HAS_SCHEMA = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'sluice') AS there"
const HAS_MIGRATIONS =
  "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'sluice' AND tablename = 'migrations') AS there"

/** Returns the schema version; 0 where nothing was ever migrated. */
async function versionOf(tx: Sql): Promise<number> {
  const [found] = await tx.query<{ there: boolean }>(HAS_MIGRATIONS)
  if (!found.there) return 0
  const [row] = await tx.query<{ version: number }>(
    'SELECT coalesce(max(version), 0)::int AS version FROM sluice.migrations',
  )
  return row.version
}

function isAt(newest: number, version: number): boolean {
  if (version > newest) {
    throw new SluiceError('SCHEMA_NEWER', 'database', `its schema has version ${version}, this program knows ${newest}`)
  }
  return version === newest
}
