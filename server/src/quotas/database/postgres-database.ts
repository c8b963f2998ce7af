import type { Client, ClientConfig, Pool, PoolClient, QueryResult } from 'pg'
import { SluiceError } from 'sluice/internal/core/errors'
import type { Database, Sql, TransactionOptions } from './database.ts'
import { faultOf, isSqlError } from './database-fault.ts'
import { postgresAddress } from './postgres-address.ts'
import { PostgresListener } from './postgres-listener.ts'

export interface PostgresOptions {
  readonly url: string
  /** Where to LISTEN, if `url` leads to a pooler that has no sessions. */
  readonly listenUrl?: string | undefined
  readonly connections?: number
  readonly connectTimeoutMs?: number
  readonly statementTimeoutMs?: number
  readonly lockTimeoutMs?: number
}

/** After a statement's own time is up the server says so; when even that does not come, the connection is given up. */
const GRACE_MS = 5000

const INT8 = 20

/** Makes a database of an address. It connects on first use, and again whenever it has to. */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const { url, label } = postgresAddress(options.url)
  const listenUrl = postgresAddress(options.listenUrl ?? options.url).url
  // Not loaded by services without quotas.
  const { default: pg } = await import('pg')
  const shared: ClientConfig = {
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5000,
    keepAlive: true,
    application_name: 'sluice',
    types: {
      getTypeParser: ((oid: number, format?: 'text') =>
        oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  }
  const pool = new pg.Pool({
    ...shared,
    connectionString: url,
    max: options.connections ?? 5,
    idleTimeoutMillis: 60_000,
  })
  const listener = new PostgresListener(() => new pg.Client({ ...shared, connectionString: listenUrl }) as Client)
  return new PostgresDatabase(pool, listener, label, options)
}

class PostgresDatabase implements Database {
  readonly #pool: Pool
  readonly #listener: PostgresListener
  readonly #label: string
  readonly #statementTimeoutMs: number
  readonly #lockTimeoutMs: number

  constructor(pool: Pool, listener: PostgresListener, label: string, options: PostgresOptions) {
    this.#pool = pool
    this.#listener = listener
    this.#label = label
    this.#statementTimeoutMs = options.statementTimeoutMs ?? 15_000
    this.#lockTimeoutMs = options.lockTimeoutMs ?? 5000
    // Without a handler, a connection that breaks while idle ends the process; one in use rejects its query as well.
    pool.on('error', () => {})
    pool.on('connect', (client) => void client.on('error', () => {}))
  }

  query<Row>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    return this.transaction((tx) => tx.query<Row>(sql, values))
  }

  async transaction<T>(work: (tx: Sql) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const timeoutMs = options.statementTimeoutMs ?? this.#statementTimeoutMs
    const client = await this.#connect()
    // A connection that answered with an error is as good as before; any other is not used again.
    let isBroken = false
    const run = async (text: string, values?: readonly unknown[]): Promise<QueryResult> => {
      const query = { text, query_timeout: timeoutMs + GRACE_MS, ...(values !== undefined && { values: [...values] }) }
      try {
        return await client.query(query)
      } catch (error) {
        isBroken ||= !isSqlError(error)
        throw faultOf(error, this.#label)
      }
    }
    try {
      await run(this.#begin(options, timeoutMs))
      const result = await work({ query: async <Row>(...args: QueryArgs) => rowsOf<Row>(await run(...args)) })
      const { command } = await run('COMMIT')
      if (command !== 'COMMIT') throw new SluiceError('DATABASE_FAILED', this.#label, 'the transaction was rolled back')
      return result
    } catch (error) {
      if (!isBroken) await run('ROLLBACK').catch(() => {})
      throw error
    } finally {
      client.release(isBroken)
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw faultOf(error, this.#label)
    }
  }

  /** Settings of the transaction alone hold behind a pooler too, which hands sessions to others in between. */
  #begin({ snapshot = false }: TransactionOptions, timeoutMs: number): string {
    const mode = snapshot ? ' ISOLATION LEVEL REPEATABLE READ READ ONLY' : ''
    return `BEGIN${mode}; SET LOCAL statement_timeout = ${timeoutMs}; SET LOCAL lock_timeout = ${this.#lockTimeoutMs}`
  }

  listen(channel: string, heard: (payload: string) => void, missed: () => void): () => void {
    return this.#listener.listen(channel, heard, missed)
  }

  async close(): Promise<void> {
    this.#listener.close()
    await this.#pool.end()
  }
}

type QueryArgs = [sql: string, values?: readonly unknown[]]

/** Several statements in one text have several results: the last one counts. */
function rowsOf<Row>(result: QueryResult | readonly QueryResult[]): readonly Row[] {
  return (Array.isArray(result) ? result.at(-1) : (result as QueryResult)).rows
}
