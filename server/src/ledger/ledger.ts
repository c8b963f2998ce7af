import { SluiceError } from 'sluice/internal/core/errors'
import type { Database, Sql } from '../quotas/database/database.ts'
import type { Operation } from './core/account-state.ts'
import type { Asked } from './in-flight.ts'
import { answerWithout, type Job, type LedgerAnswer, runJobs } from './ledger-batch.ts'
import { AccountIds } from './tables/account-ids.ts'

export interface LedgerOptions {
  /** Operations of one transaction. Default: 2,000. 1: each has a separate transaction. */
  readonly mostOfBatch?: number
  /** Transactions at the same time, each for other accounts. Default: 2. */
  readonly lanes?: number
  /** Operations that wait. More are refused with LEDGER_BUSY. Default: 20,000. */
  readonly mostWaiting?: number
  /** What time it is. Default: the clock of the database, which all nodes share. */
  readonly clock?: () => number
}

interface Waiting extends Job {
  resolve(answer: LedgerAnswer): void
  reject(error: unknown): void
}

interface Lane {
  readonly queue: Waiting[]
  isBusy: boolean
}

/**
 * The Ledger does operations on accounts. What is asked while a transaction runs is done by the next one, all
 * together, so that a commit of the database serves as many callers as there are; nobody waits for a timer. Two nodes
 * may work on one account: they take turns.
 */
export class Ledger {
  readonly #db: Database
  readonly #ids: AccountIds
  readonly #lanes: readonly Lane[]
  readonly #mostOfBatch: number
  readonly #mostWaiting: number
  readonly #clock: (() => number) | undefined
  #waiting = 0

  constructor(db: Database, { mostOfBatch = 2_000, lanes = 2, mostWaiting = 20_000, clock }: LedgerOptions = {}) {
    this.#db = db
    this.#ids = new AccountIds(db)
    this.#lanes = Array.from({ length: lanes }, () => ({ queue: [], isBusy: false }))
    this.#mostOfBatch = mostOfBatch
    this.#mostWaiting = mostWaiting
    this.#clock = clock
  }

  /**
   * Does one operation in a transaction with other work, such as its entry in the audit log. The account is found before
   * that begins: an embedded database has one connection, which the transaction holds.
   */
  async askWith<T>(
    customerId: string,
    meterId: string,
    operation: Operation,
    transaction: (work: (tx: Sql) => Promise<LedgerAnswer>) => Promise<T>,
  ): Promise<T> {
    const found = await this.#ids.find(customerId, meterId)
    return transaction(async (tx) => {
      if (typeof found !== 'number') return answerWithout(found)
      const [answer] = await runJobs(tx, [{ accountId: found, operation }], this.#clock)
      return answer
    })
  }

  /**
   * Does one operation on the account of a customer and a meter. Rejects when the database does not answer: then it
   * may have been done.
   */
  async ask(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer> {
    const found = await this.#ids.find(customerId, meterId)
    if (typeof found !== 'number') return answerWithout(found)
    const answer = await this.run(found, operation)
    if (answer.outcome.kind !== 'unknown' || answer.outcome.what !== 'account') return answer
    // The database came back from a backup that is older than the account.
    this.#ids.forget(customerId, meterId)
    throw new SluiceError('DATABASE_UNAVAILABLE', 'ledger', 'the account is not there any more')
  }

  /** Does operations in one transaction, in order: all of them, or none. */
  async askTogether(all: readonly Asked[]): Promise<readonly LedgerAnswer[]> {
    const found = await Promise.all(all.map(({ customerId, meterId }) => this.#ids.find(customerId, meterId)))
    const jobs = all.flatMap(({ operation }, i) => {
      const accountId = found[i]
      return typeof accountId === 'number' ? [{ accountId, operation }] : []
    })
    const answers = [...(await this.#run(jobs))]
    return found.map((each) => (typeof each === 'number' ? answers.shift()! : answerWithout(each)))
  }

  /** Resolves when the database answers. */
  async ping(): Promise<void> {
    await this.#db.query('SELECT 1')
  }

  /** Does one operation on an account that is there. */
  run(accountId: number, operation: Operation): Promise<LedgerAnswer> {
    if (this.#waiting >= this.#mostWaiting) {
      throw new SluiceError('LEDGER_BUSY', 'ledger', `${this.#waiting} operations wait`)
    }
    this.#waiting++
    const lane = this.#lanes[accountId % this.#lanes.length]
    return new Promise<LedgerAnswer>((resolve, reject) => {
      lane.queue.push({ accountId, operation, resolve, reject })
      if (!lane.isBusy) void this.#work(lane)
    })
  }

  /**
   * Ends holds whose time is over, of accounts that nobody asks about. Returns how many accounts it looked at: 500
   * are not all.
   */
  async expireHolds(): Promise<number> {
    const rows = await this.#db.query<{ account_id: number }>(
      `SELECT DISTINCT h.account_id FROM (
         SELECT account_id FROM sluice.ledger_holds WHERE expires_at_ms <= (extract(epoch FROM now()) * 1000)::int8
         ORDER BY expires_at_ms LIMIT 5000) AS h
       JOIN sluice.ledger_accounts a ON a.id = h.account_id JOIN sluice.meters m ON m.id = a.meter_id LIMIT ${MOST_SWEPT}`,
    )
    await Promise.all(rows.map(({ account_id }) => this.run(account_id, { kind: 'look' })))
    return rows.length
  }

  async #work(lane: Lane): Promise<void> {
    lane.isBusy = true
    // What the same turn of the event loop asks is part of the first batch.
    await new Promise((resolve) => setImmediate(resolve))
    while (lane.queue.length > 0) await this.#batch(lane.queue.splice(0, this.#mostOfBatch))
    lane.isBusy = false
  }

  async #batch(jobs: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.#run(jobs)
      this.#waiting -= jobs.length
      for (const [i, { resolve }] of jobs.entries()) resolve(answers[i])
    } catch (error) {
      if (jobs.length > 1 && isRefused(error)) return this.#apart(jobs)
      this.#waiting -= jobs.length
      for (const { reject } of jobs) reject(error)
    }
  }

  /** Two transactions that lock each other out have changed nothing: it is done again, with all of its reads. */
  async #run(jobs: readonly Job[]): Promise<readonly LedgerAnswer[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#db.transaction((tx) => runJobs(tx, jobs, this.#clock))
      } catch (error) {
        if (attempt === MOST_ATTEMPTS || !isConflict(error)) throw error
      }
    }
  }

  /** The database refused a statement: the accounts that have nothing to do with it are not to suffer. */
  async #apart(jobs: readonly Waiting[]): Promise<void> {
    const middle = Math.ceil(jobs.length / 2)
    await this.#batch(jobs.slice(0, middle))
    await this.#batch(jobs.slice(middle))
  }
}

const MOST_ATTEMPTS = 5
const MOST_SWEPT = 500
const CONFLICTS: ReadonlySet<unknown> = new Set(['40001', '40P01'])

const isConflict = (error: unknown): boolean =>
  error instanceof SluiceError && 'sqlState' in error && CONFLICTS.has(error.sqlState)

/**
 * Where the connection was lost nothing is known, and nothing is tried again; a statement that was refused has
 * changed nothing.
 */
const isRefused = (error: unknown): boolean => !(error instanceof SluiceError && error.code === 'DATABASE_UNAVAILABLE')
