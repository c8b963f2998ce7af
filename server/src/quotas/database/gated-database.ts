import { AsyncLocalStorage } from 'node:async_hooks'
import { SluiceError } from 'sluice/internal/core/errors'
import type { Database, Sql, TransactionOptions, WholeDatabase } from './database.ts'
import { DatabaseFault } from './database-fault.ts'

/** The state of a database, judged by its answers. */
export interface DatabaseHealth {
  /** The last statement was answered. */
  readonly isUp: boolean
  /** Transactions that failed because of the database. */
  readonly errors: number
}

/**
 * Rejects every query as unavailable until the database was opened, so that everything that works with a database can
 * be made before there is one. It also notes whether the database answers.
 */
export class GatedDatabase implements WholeDatabase {
  readonly #db: Database
  readonly #whole = new AsyncLocalStorage<Whole>()
  #isOpen = false
  #isUp = false
  #errors = 0

  constructor(db: Database) {
    this.#db = db
  }

  get health(): DatabaseHealth {
    return { isUp: this.#isUp && this.#isOpen, errors: this.#errors }
  }

  /** Does the work that has to come first. When that resolves, the gate opens to all callers. */
  async openWith(work: (db: Database) => Promise<void>): Promise<void> {
    await this.#noted(work(this.#db))
    this.#isOpen = true
  }

  async query<Row>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    this.#requireOpen()
    const whole = this.#surrounding()
    if (whole !== undefined) return whole.tx.query<Row>(sql, values)
    return this.#noted(this.#db.query<Row>(sql, values))
  }

  async transaction<T>(work: (tx: Sql) => Promise<T>, options?: TransactionOptions): Promise<T> {
    this.#requireOpen()
    const whole = this.#surrounding()
    if (whole !== undefined) return whole.part(work)
    return this.#noted(this.#db.transaction(work, options))
  }

  async atomically<T>(work: () => Promise<T>): Promise<T> {
    this.#requireOpen()
    if (this.#surrounding() !== undefined) return work()
    let whole: Whole | undefined
    const run = async (tx: Sql): Promise<T> => {
      whole = new Whole(tx)
      try {
        return await this.#whole.run(whole, work)
      } finally {
        whole.isOver = true
      }
    }
    const result = await this.#noted(this.#db.transaction(run, { statementTimeoutMs: A_MINUTE_MS }))
    for (const later of whole?.later ?? []) later()
    return result
  }

  afterCommit(run: () => void): void {
    const whole = this.#surrounding()
    if (whole === undefined) run()
    else whole.later.push(run)
  }

  listen(channel: string, heard: (payload: string) => void, missed: () => void): () => void {
    return this.#db.listen(channel, heard, missed)
  }

  close(): Promise<void> {
    return this.#db.close()
  }

  /** What work began in a transaction and does after it, such as on a timer, is no part of it. */
  #surrounding(): Whole | undefined {
    const whole = this.#whole.getStore()
    return whole?.isOver === false ? whole : undefined
  }

  #requireOpen(): void {
    if (!this.#isOpen) throw new SluiceError('DATABASE_UNAVAILABLE', 'database', 'it was not opened yet')
  }

  async #noted<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked
      this.#isUp = true
      return answer
    } catch (error) {
      this.#isUp = isAnswer(error)
      if (!this.#isUp || isFault(error)) this.#errors++
      throw error
    }
  }
}

const A_MINUTE_MS = 60_000

/** A Whole is a transaction that others are parts of, one after the other. */
class Whole {
  readonly tx: Sql
  readonly later: (() => void)[] = []
  isOver = false

  constructor(tx: Sql) {
    this.tx = tx
  }

  async part<T>(work: (tx: Sql) => Promise<T>): Promise<T> {
    await this.tx.query('SAVEPOINT part')
    try {
      const result = await work(this.tx)
      await this.tx.query('RELEASE SAVEPOINT part')
      return result
    } catch (error) {
      // A lost connection cannot roll back; the server ends its transaction.
      await this.tx.query('ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part').catch(() => {})
      throw error
    }
  }
}

/** Returns whether an error shows that the database answered. */
function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseFault || !isDatabaseError(error)
}

const OURS: ReadonlySet<string> = new Set([
  'DATABASE_UNAVAILABLE',
  'DATABASE_FAILED',
  'DATABASE_LOCKED',
  'DATABASE_VERSION_UNSUPPORTED',
])

function isDatabaseError(error: unknown): boolean {
  return error instanceof SluiceError && OURS.has(error.code)
}

/** A value that a table does not take is the fault of who sent it. */
function isFault(error: unknown): boolean {
  return error instanceof DatabaseFault && !/^2[23]/.test(error.sqlState)
}
