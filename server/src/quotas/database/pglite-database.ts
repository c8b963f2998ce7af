import { SluiceError } from 'sluice/internal/core/errors'
import { Backoff } from './backoff.ts'
import type { Database, Sql, TransactionOptions } from './database.ts'
import { Listeners, quotedChannel } from './listeners.ts'
import { type Answer, type PgliteProcess, startPglite } from './pglite-process.ts'
import { PgliteUpkeep, type UpkeepOptions } from './pglite-upkeep.ts'
import { Turns } from './turns.ts'

export interface PgliteOptions extends UpkeepOptions {
  /** The database is in `postgres` below it. */
  readonly dataDir: string
  readonly statementTimeoutMs?: number
}

/**
 * PGlite in a separate process, which starts when it is first needed and again when it crashes. PGlite has one
 * connection: transactions wait for each other.
 */
export class PgliteDatabase implements Database {
  readonly #dataDir: string
  readonly #statementTimeoutMs: number
  readonly #turns = new Turns()
  readonly #listeners = new Listeners()
  readonly #backoff = new Backoff(100, 5000)
  readonly #upkeep: PgliteUpkeep
  #process: Promise<PgliteProcess> | undefined
  #current: PgliteProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: PgliteOptions) {
    this.#dataDir = options.dataDir
    this.#statementTimeoutMs = options.statementTimeoutMs ?? 60_000
    this.#upkeep = new PgliteUpkeep((sql) => this.query(sql), options)
  }

  /** The id of the process, while there is one. */
  get pid(): number | undefined {
    return this.#current?.pid
  }

  query<Row>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    return this.#turns.take(async () => {
      const process = await this.#start()
      const { rows } = await process.ask({ sql, values }, this.#statementTimeoutMs)
      this.#upkeep.worked()
      return rows as readonly Row[]
    })
  }

  transaction<T>(work: (tx: Sql) => Promise<T>, { snapshot = false }: TransactionOptions = {}): Promise<T> {
    return this.#turns.take(async () => {
      const process = await this.#start()
      const run = (sql: string, values?: readonly unknown[]): Promise<Answer> =>
        process.ask({ sql, values }, this.#statementTimeoutMs)
      await run(snapshot ? 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' : 'BEGIN')
      try {
        const result = await work({
          query: async <Row>(...args: QueryArgs) => (await run(...args)).rows as readonly Row[],
        })
        if ((await run('COMMIT')).command !== 'COMMIT') throw this.#rolledBack()
        this.#upkeep.worked()
        return result
      } catch (error) {
        await run('ROLLBACK').catch(() => {})
        throw error
      }
    })
  }

  /** PostgreSQL takes the COMMIT of a transaction that had an error for a ROLLBACK, and does not mind. */
  #rolledBack(): SluiceError {
    return new SluiceError('DATABASE_FAILED', this.#dataDir, 'the transaction was rolled back')
  }

  listen(channel: string, heard: (payload: string) => void, missed: () => void): () => void {
    quotedChannel(channel)
    const listener = { heard, missed }
    const isNew = !this.#listeners.has(channel)
    this.#listeners.add(channel, listener)
    // A process listens on every known channel when it starts; a running one has to be asked.
    const asked = this.#start().then(async (process) => {
      if (isNew) await process.ask({ channel }, this.#statementTimeoutMs)
    })
    asked.then(missed).catch(() => this.#startAgain())
    return () => this.#listeners.remove(channel, listener)
  }

  #start(): Promise<PgliteProcess> {
    if (this.#isClosed) return Promise.reject(new SluiceError('DATABASE_UNAVAILABLE', this.#dataDir, 'it is closed'))
    this.#process ??= this.#launch().catch((error) => {
      this.#process = undefined
      throw error
    })
    return this.#process
  }

  async #launch(): Promise<PgliteProcess> {
    clearTimeout(this.#restart)
    this.#restart = undefined
    const process = await startPglite(this.#dataDir, {
      notice: (channel, payload) => this.#listeners.heard(channel, payload),
      ended: () => this.#ended(),
    })
    const channels = this.#listeners.channels
    for (const channel of channels) await process.ask({ channel }, this.#statementTimeoutMs)
    this.#current = process
    this.#backoff.reset()
    this.#listeners.missed()
    return process
  }

  #ended(): void {
    this.#process = undefined
    this.#current = undefined
    this.#startAgain()
  }

  /** Listeners send no queries, so they must be notified when there is a process again. */
  #startAgain(): void {
    if (this.#isClosed || this.#restart !== undefined || this.#listeners.channels.length === 0) return
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.#start().catch(() => this.#startAgain())
    }, this.#backoff.nextMs()).unref()
  }

  async close(): Promise<void> {
    this.#upkeep.stop()
    clearTimeout(this.#restart)
    await this.#turns.take(async () => {
      this.#isClosed = true
      const process = await this.#process?.catch(() => undefined)
      await process?.end()
    })
  }
}

type QueryArgs = [sql: string, values?: readonly unknown[]]
