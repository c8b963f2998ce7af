import type { Database } from './database.ts'
import { migrate } from './migrate.ts'

/** Leaves nothing of a test before. */
export const EMPTY = 'DROP SCHEMA IF EXISTS sluice CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public'

const OURS = "(SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_|^information_schema$')"

/** All that a database has besides rows and what PostgreSQL itself brings. */
const SHAPE = `SELECT string_agg(part, E'\\n' ORDER BY part) AS shape FROM (
  SELECT format('%s %s %s', relnamespace::regnamespace, relname, relkind) FROM pg_class WHERE relnamespace IN ${OURS}
  UNION ALL SELECT format('%s %s', oid::regprocedure, prosrc) FROM pg_proc WHERE pronamespace IN ${OURS}
  UNION ALL SELECT format('%s %s %s %s', attrelid::regclass, attnum, attname, pg_get_expr(adbin, adrelid))
    || format(' %s %s', atttypid::regtype, attnotnull)
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relnamespace IN ${OURS}
  UNION ALL SELECT format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace IN ${OURS}
  UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace IN ${OURS}
  UNION ALL SELECT format('%s %s %s', tgrelid::regclass, tgname, tgenabled) FROM pg_trigger WHERE NOT tgisinternal
) AS parts(part)`

/**
 * The catalogs' rows of what is not PostgreSQL's own (whose ids are below 16384), counted and added up by the transactions that wrote
 * them: it is the same only where nothing in SHAPE has changed. SHAPE takes ten times as long.
 */
const CATALOGS = `SELECT concat_ws(' ', ${[
  'pg_class WHERE oid',
  'pg_proc WHERE oid',
  'pg_attribute WHERE attrelid',
  'pg_attrdef WHERE oid',
  'pg_constraint WHERE oid',
  'pg_index WHERE indexrelid',
  'pg_trigger WHERE oid',
]
  .map((rows) => `(SELECT format('%s:%s', count(*), sum(xmin::text::bigint)) FROM ${rows} >= 16384)`)
  .join(', ')}) AS catalogs`

/** Tables that are larger are emptied by TRUNCATE: what DELETE leaves behind would be read again and again. */
const LARGE_BYTES = 1_000_000

/** A table as migrations leave it, with the rows that they insert. */
interface Table {
  readonly name: string
  readonly rows: string | null
}

/**
 * The tables as migrations leave them, with the rows that they insert. A migration takes thirty times as long as the
 * removal of what a test has written; only where a test has changed the tables themselves is everything recreated.
 */
export class FreshSchema {
  #shape: string | undefined
  #catalogs: string | undefined
  #tables: readonly Table[] = []
  #sequences: readonly string[] = []

  /** Makes the tables of a database as good as new. The connected user needs all rights. */
  async restore(db: Database): Promise<void> {
    if (await this.#hasShape(db)) {
      await this.#putBack(db)
      return
    }
    await db.query(EMPTY)
    await migrate(db)
    this.#shape = await shapeOf(db)
    this.#catalogs = await catalogsOf(db)
    const names = await db.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'sluice'",
    )
    this.#tables = await Promise.all(names.map(({ name }) => read(db, `sluice.${name}`)))
    const sequences = await db.query<{ name: string }>(
      "SELECT sequencename AS name FROM pg_sequences WHERE schemaname = 'sluice'",
    )
    this.#sequences = sequences.map(({ name }) => `sluice.${name}`)
  }

  async #hasShape(db: Database): Promise<boolean> {
    if (this.#shape === undefined) return false
    const catalogs = await catalogsOf(db)
    if (catalogs === this.#catalogs) return true
    if ((await shapeOf(db)) !== this.#shape) return false
    this.#catalogs = catalogs
    return true
  }

  async #putBack(db: Database): Promise<void> {
    const changed = await db.query<{ name: string; isLarge: boolean }>(
      this.#tables.map(whetherChanged).join(' UNION ALL '),
    )
    const isLarge = changed.some((each) => each.isLarge)
    const names = isLarge ? this.#tables.map(({ name }) => name) : changed.map(({ name }) => name)
    await db.transaction(async (tx) => {
      await tx.query(
        [
          // The audit log refuses to be emptied.
          'SET LOCAL session_replication_role = replica',
          ...(isLarge ? [`TRUNCATE ${names.join(', ')}`] : names.map((name) => `DELETE FROM ${name}`)),
          ...this.#sequences.map((name) => `SELECT setval('${name}', 1, false)`),
        ].join('; '),
      )
      for (const { name, rows } of this.#tables) {
        if (rows === null || !names.includes(name)) continue
        await tx.query(
          `INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${name}, $1::json)`,
          [rows],
        )
      }
    })
  }
}

async function read(db: Database, name: string): Promise<Table> {
  const [{ rows }] = await db.query<{ rows: string | null }>(`SELECT ${rowsOf(name)} AS rows`)
  return { name, rows }
}

const rowsOf = (name: string): string => `(SELECT json_agg(each)::text FROM ${name} AS each)`

/** Selects a table if it has other rows than at first, or room for many. */
function whetherChanged({ name, rows }: Table): string {
  const isLarge = `pg_relation_size('${name}') > ${LARGE_BYTES}`
  const isChanged =
    rows === null ? `EXISTS (SELECT FROM ${name})` : `${rowsOf(name)} IS DISTINCT FROM '${rows.replaceAll("'", "''")}'`
  return `SELECT '${name}' AS name, ${isLarge} AS "isLarge" WHERE ${isLarge} OR ${isChanged}`
}

async function shapeOf(db: Database): Promise<string> {
  const [{ shape }] = await db.query<{ shape: string | null }>(SHAPE)
  return shape ?? ''
}

async function catalogsOf(db: Database): Promise<string> {
  const [{ catalogs }] = await db.query<{ catalogs: string }>(CATALOGS)
  return catalogs
}
