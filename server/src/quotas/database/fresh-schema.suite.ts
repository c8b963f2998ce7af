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
 * The tables as migrations leave them, with the rows that they insert. A migration takes ten times as long as the
 * removal of what a test has written; only where a test has changed the tables themselves is everything recreated.
 */
export class FreshSchema {
  #shape: string | undefined
  #rows: readonly (readonly [table: string, rows: string | null])[] = []

  /** Makes the tables of a database as good as new. The connected user needs all rights. */
  async restore(db: Database): Promise<void> {
    if (this.#shape !== undefined && (await shapeOf(db)) === this.#shape) {
      await this.#putBack(db)
      return
    }
    await db.query(EMPTY)
    await migrate(db)
    this.#shape = await shapeOf(db)
    const tables = await db.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'sluice'",
    )
    this.#rows = await Promise.all(
      tables.map(async ({ name }) => {
        const [{ rows }] = await db.query<{ rows: string | null }>(
          `SELECT json_agg(each)::text AS rows FROM sluice.${name} AS each`,
        )
        return [`sluice.${name}`, rows] as const
      }),
    )
  }

  async #putBack(db: Database): Promise<void> {
    await db.transaction(async (tx) => {
      // The audit log refuses to be emptied.
      await tx.query('SET LOCAL session_replication_role = replica')
      await tx.query(`TRUNCATE ${this.#rows.map(([table]) => table).join(', ')} RESTART IDENTITY`)
      for (const [table, rows] of this.#rows) {
        if (rows === null) continue
        await tx.query(
          `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`,
          [rows],
        )
      }
    })
  }
}

async function shapeOf(db: Database): Promise<string> {
  const [{ shape }] = await db.query<{ shape: string | null }>(SHAPE)
  return shape ?? ''
}
