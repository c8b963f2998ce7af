import { SluiceError } from 'sluice/internal/core/errors'
import type { Database, Sql, TransactionOptions } from '../ports.ts'
import { DatabaseFault } from './database-fault.ts'

/** What is known of a database by what it answered. */
export interface DatabaseHealth {
  /** The last statement was answered. */
  readonly isUp: boolean
  /** Transactions that failed because of the database. */
  readonly errors: number
}

/**
 * A GatedDatabase lets nobody in before it was opened: who comes early is told that it is away. So everything that works with a
 * database can be made before there is one. It also notes whether the database answers.
 */
export class GatedDatabase implements Database {
  readonly #db: Database
  #isOpen = false
  #isUp = false
  #errors = 0

  constructor(db: Database) {
    this.#db = db
  }

  get health(): DatabaseHealth {
    return { isUp: this.#isUp && this.#isOpen, errors: this.#errors }
  }

  /** openWith does what has to come first. When that resolves, everybody may come. */
  async openWith(work: (db: Database) => Promise<void>): Promise<void> {
    await this.#noted(work(this.#db))
    this.#isOpen = true
  }

  async query<Row>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    this.#requireOpen()
    return this.#noted(this.#db.query<Row>(sql, values))
  }

  async transaction<T>(work: (tx: Sql) => Promise<T>, options?: TransactionOptions): Promise<T> {
    this.#requireOpen()
    return this.#noted(this.#db.transaction(work, options))
  }

  listen(channel: string, heard: (payload: string) => void, missed: () => void): () => void {
    return this.#db.listen(channel, heard, missed)
  }

  close(): Promise<void> {
    return this.#db.close()
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

/** isAnswer says whether it was not silence that an error is about. */
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
