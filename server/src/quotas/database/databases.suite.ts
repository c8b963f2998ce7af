import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type PostgresEndpoint, type PostgresServer, startPostgres } from '../../../../tests/servers/postgres.mjs'
import { makeTemporaryDir } from '../../../../tests/servers/reaper.mjs'
import { sharedPglite, sharedPostgres } from '../../../../tests/servers/shared.ts'
import type { Database } from './database.ts'
import { EMPTY, FreshSchema } from './fresh-schema.suite.ts'
import { PgliteDatabase } from './pglite-database.ts'
import { openPostgres } from './postgres-database.ts'

/** Allows for a test that starts a PGlite on a busy machine. */
export const SLOW_MS = 300_000

/** A TestDatabase is an empty place, and ways to open it as several nodes do and to look into it past the program. */
export interface TestDatabase {
  /** Returns a new database on PostgreSQL; on PGlite, where there is only one node, the same each time. */
  open(): Promise<Database>
  /** Runs SQL as a user who may do everything. */
  asSuperuser(sql: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>
  /** Ends the server with SIGKILL; `revive` starts it again, where it does not restart on its own. */
  kill(): Promise<void>
  revive(): Promise<void>
  readonly dataDir: string | undefined
}

export interface Needs {
  /** A separate server, where that is possible. */
  readonly own?: boolean
  /** No tables: they are there otherwise, with nothing of another test in them. A separate server has none. */
  readonly bare?: boolean
}

export type MakeTestDatabase = (needs?: Needs) => Promise<TestDatabase>

interface IdleDatabase {
  readonly name: string
  readonly schema: FreshSchema
}

/**
 * Databases of this worker in the PostgreSQL of the run that no test has now: a new one takes ten times as long as to
 * empty one.
 */
const idle: IdleDatabase[] = []

async function takeDatabase(server: PostgresEndpoint, bare: boolean): Promise<IdleDatabase> {
  const taken = idle.pop() ?? { name: await server.createDatabase(), schema: new FreshSchema() }
  if (bare) await server.run(EMPTY, { database: taken.name })
  else await restore(server.url(taken.name), taken.schema)
  return taken
}

async function restore(url: string, schema: FreshSchema): Promise<void> {
  const db = await openPostgres({ url })
  await schema.restore(db)
  await db.close()
}

export async function makePostgres({ own = false, bare = false }: Needs = {}): Promise<TestDatabase> {
  const server = own ? await startPostgres() : await sharedPostgres()
  const taken = own ? undefined : await takeDatabase(server, bare)
  const database = taken?.name ?? (await server.createDatabase())
  const url = server.url(database)
  const opened: Database[] = []
  onTestFinished(async () => {
    await Promise.all(opened.map((each) => each.close()))
    if (taken === undefined) await (server as PostgresServer).stop()
    else idle.push(taken)
  })
  return {
    dataDir: undefined,
    async open() {
      const db = await openPostgres({ url })
      opened.push(db)
      return db
    },
    asSuperuser: (sql, values) => server.run(sql, { database, ...(values && { values: [...values] }) }),
    kill: () => (server as PostgresServer).kill(),
    revive: () => (server as PostgresServer).restart(),
  }
}

const freshSchema = new FreshSchema()
let opening: Promise<{ readonly dataDir: string; readonly db: PgliteDatabase }> | undefined

async function openPglite() {
  const dataDir = makeTemporaryDir('pglite-of-worker')
  await copyPglite(dataDir)
  return { dataDir, db: new PgliteDatabase({ dataDir }) }
}

/**
 * Returns the PGlite of this worker, emptied: a new one takes seconds. Files of a worker follow each other; it ends
 * with the worker, as PGlite does with its parent.
 */
export async function makePglite({ bare = false }: Needs = {}): Promise<TestDatabase> {
  opening ??= openPglite()
  const { dataDir, db } = await opening
  if (bare) await db.query(EMPTY)
  else await freshSchema.restore(db)
  return {
    dataDir,
    open: async () => db,
    asSuperuser: (sql, values) => db.query(sql, values),
    async kill() {
      process.kill(db.pid!, 'SIGKILL')
    },
    async revive() {},
  }
}

/** Copies a database that was made once for the test run into a data directory. */
export async function copyPglite(dataDir: string): Promise<void> {
  cpSync((await sharedPglite()).dir, dataDir, { recursive: true })
}

export const testDatabases: readonly (readonly [name: string, make: MakeTestDatabase])[] = [
  ['PostgreSQL', makePostgres],
  ['PGlite', makePglite],
]

/** Returns a new directory, which is removed after the test. */
export function makeDataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-data-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return join(dir, 'data')
}
