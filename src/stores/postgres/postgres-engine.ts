import { withoutCredentials } from '../../core/errors.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import type { CasEngine, CasResult, CasWrite, Stored, TimeSample } from '../cas/cas-engine.ts'
import { storedName } from '../cas/stored-name.ts'
import type { RunSql } from './postgres-client.ts'
import { cleanSql, createSql, GROUPS_RACED, groupsSql, list, pagesSql, readSql, writeSql } from './postgres-sql.ts'

export interface PostgresEngineOptions {
  readonly run: RunSql
  /** Where it is, for metrics and logs. */
  readonly name: string
  /** The table, which is made when it is missing. */
  readonly table: string
  /** True: counters survive a crash of the server, at the price of writing all changes to its log. */
  readonly isLogged: boolean
}

/** An index entry takes up to 2,704 bytes. */
const MAX_NAME = 1_000
const PAGES_A_TIME = 256
const MISSING_TABLE = '42P01'
/** Two that make the same table at the same time. */
const MADE_BY_ANOTHER = ['42P07', '23505', '42710']
/** Rolled back as a whole because of others: a deadlock, or a transaction that could not be put in order. */
const RACED = ['40001', '40P01', GROUPS_RACED]

/**
 * Keeps counters in a table of PostgreSQL. A batch is one statement, which needs nothing of its session, so that it goes
 * through PgBouncer in transaction mode. Names are locked in order, and each process has one statement on a name at a
 * time: on a hot counter, as many wait as there are processes, not requests.
 */
export class PostgresEngine implements CasEngine {
  readonly name: string
  readonly isAtomic = true
  readonly maxNames = 1_000
  readonly #options: PostgresEngineOptions
  #creating: Promise<void> | undefined
  #nextPage = -1

  constructor(options: PostgresEngineOptions) {
    this.#options = options
    this.name = options.name
  }

  async read(names: readonly string[]): Promise<readonly (Stored | undefined)[]> {
    const stored = names.map((name) => storedName(name, MAX_NAME))
    const rows = await this.#run<{ name: string; version: string; value: string }>(readSql(this.#table), [list(stored)])
    const found = new Map(rows.map(({ name, version, value }) => [name, { version, text: value }]))
    return stored.map((name) => found.get(name))
  }

  async write(writes: readonly CasWrite[]): Promise<readonly CasResult[]> {
    const names = writes.map(({ name }) => storedName(name, MAX_NAME))
    const columns = [
      list(names),
      list(writes.map(({ base }) => base)),
      list(writes.map(({ version }) => version)),
      list(writes.map(({ text }) => text)),
      list(writes.map(({ ttlMs }) => String(Math.ceil(ttlMs)))),
    ]
    const isPlain = new Set(writes.map(({ group }) => group)).size === writes.length
    const written = await this.#write(columns, isPlain ? undefined : list(writes.map(({ group }) => String(group))))
    return writes.map(({ version }, i) => (written.has(names[i]) ? { isWritten: true, version } : { isWritten: false }))
  }

  async #write(columns: readonly string[], groups: string | undefined): Promise<ReadonlySet<string>> {
    try {
      const rows = await (groups === undefined
        ? this.#run<{ name: string }>(writeSql(this.#table), columns)
        : this.#run<{ name: string }>(groupsSql(this.#table), [...columns, groups]))
      return new Set(rows.map(({ name }) => name))
    } catch (error) {
      if (RACED.includes(stateOf(error) ?? '')) return new Set()
      throw error
    }
  }

  /** Removes what has expired from some pages of the table, without waiting for anyone. */
  async expire(): Promise<boolean> {
    const [{ pages }] = await this.#run<{ pages: string | number }>(pagesSql(this.#table), [])
    const count = Number(pages)
    if (this.#nextPage < 0 || this.#nextPage >= count) {
      // Nodes begin at different places.
      this.#nextPage = this.#nextPage < 0 ? Math.floor(Math.random() * count) : 0
    }
    const from = this.#nextPage
    this.#nextPage += PAGES_A_TIME
    await this.#run(cleanSql(this.#table), [`(${from},0)`, `(${this.#nextPage},0)`])
    return this.#nextPage < count
  }

  async time(): Promise<TimeSample> {
    const [{ ms }] = await this.#run<{ ms: string | number }>(NOW_SQL, [])
    return { ms: Number(ms), withinMs: 1 }
  }

  /** The pool is the app's: it stays open. */
  async close(): Promise<void> {}

  get #table(): string {
    return this.#options.table
  }

  /** Runs a statement, and makes the table if it is missing. */
  async #run<Row>(sql: string, values: readonly string[]): Promise<readonly Row[]> {
    try {
      return (await this.#options.run(sql, values)) as readonly Row[]
    } catch (error) {
      if (stateOf(error) !== MISSING_TABLE) throw this.#faultOf(error)
    }
    this.#creating ??= this.#create().finally(() => {
      this.#creating = undefined
    })
    await this.#creating
    try {
      return (await this.#options.run(sql, values)) as readonly Row[]
    } catch (error) {
      throw this.#faultOf(error)
    }
  }

  async #create(): Promise<void> {
    try {
      await this.#options.run(createSql(this.#table, this.#options.isLogged), [])
    } catch (error) {
      if (!MADE_BY_ANOTHER.includes(stateOf(error) ?? '')) throw this.#faultOf(error)
    }
  }

  /** An error with a state is the server's: the statement was rolled back. Of a connection that broke no one knows. */
  #faultOf(error: unknown): StoreFault {
    const state = stateOf(error)
    const detail = withoutCredentials(error instanceof Error ? error.message : String(error))
    const isEnded = state !== undefined && /^(57P0[12]|08)/.test(state)
    if (isEnded) return new StoreFault('broken', this.name, detail, error)
    if (state !== undefined) return new StoreFault('unavailable', this.name, `${detail} (SQLSTATE ${state})`, error)
    const code = String((error as { code?: unknown }).code)
    const isOffline = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT)$/.test(code)
    return new StoreFault(isOffline ? 'offline' : 'broken', this.name, detail, error)
  }
}

const NOW_SQL = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms'

/** Returns the SQLSTATE of an error, of pg or of postgres.js or of ours that wraps one. */
function stateOf(error: unknown): string | undefined {
  const source = error instanceof StoreFault ? error.cause : error
  const code = (source as { code?: unknown } | undefined)?.code
  return typeof code === 'string' && code.length === 5 && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code)
    ? code
    : undefined
}
