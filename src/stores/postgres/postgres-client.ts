import { got, SluiceError } from '../../core/errors.ts'

/** Runs one statement, and returns its rows. */
export type RunSql = (sql: string, values: readonly string[]) => Promise<readonly unknown[]>

/** A pool or a client of `pg`. */
export interface PgClient {
  query(sql: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>
}

/** What `postgres()` of the package `postgres` returns. */
export interface PostgresJsClient {
  unsafe(sql: string, values?: never[]): PromiseLike<readonly unknown[]>
}

/** A client of an app: a pool or a client of `pg`, or what the package `postgres` makes. */
export type PostgresClient = PgClient | PostgresJsClient

/** Returns how a client runs statements. Neither way uses a prepared statement with a name. */
export function runSqlOf(client: PostgresClient): RunSql {
  const given = client as Partial<PgClient & PostgresJsClient> | undefined
  if (typeof given?.unsafe === 'function') {
    const sqlOf = given as PostgresJsClient
    return async (sql, values) => await sqlOf.unsafe(sql, [...values] as never[])
  }
  if (typeof given?.query === 'function') {
    const pool = given as PgClient
    return async (sql, values) => (await pool.query(sql, [...values])).rows
  }
  throw new SluiceError(
    'STORE_CLIENT_INVALID',
    'postgres',
    `${got(client)}, expected a pool of pg, or what postgres() of the package postgres returned`,
  )
}

/** Returns a name of a table as SQL has it: letters, digits and _, with a schema if it has one. */
export function tableOf(table: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$/.test(table)) {
    throw new SluiceError('STORE_PLACE_INVALID', 'table', got(table))
  }
  return table
    .split('.')
    .map((part) => `"${part}"`)
    .join('.')
}
