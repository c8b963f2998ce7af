import type { Actor } from '../quotas/audit/actor.ts'
import type { AuditLog } from '../quotas/audit/audit-log.ts'
import type { Database, Sql } from '../quotas/database/database.ts'
import type { Operation } from './core/account-state.ts'
import { type Asked, InFlight } from './in-flight.ts'
import type { Ledger } from './ledger.ts'
import type { LedgerAnswer } from './ledger-batch.ts'
import { type MeterLimit, type Reconciliation, reconcile } from './reconcile.ts'
import { type LedgerPage, type ShownAccount, type Statement, StatementReader } from './statements.ts'
import { type LedgerReport, verifyLedger } from './verify-ledger.ts'

export interface EntryQuery {
  readonly customerId: string
  readonly meterId: string
  /** Entries after this number. */
  readonly after: number
  readonly limit: number
}

/** Everything that doors and the admin API do with the ledger. */
export class LedgerService {
  readonly #db: Database
  readonly #ledger: Ledger
  readonly #door: Pick<Ledger, 'ask'>
  readonly #audit: Pick<AuditLog, 'record'>
  readonly #reader: StatementReader
  readonly #inFlight = new InFlight()
  #drifts: ReadonlyMap<string, number> = new Map()

  /** `door` is asked what programs ask: the ledger itself by default. */
  constructor(db: Database, ledger: Ledger, audit: Pick<AuditLog, 'record'>, door: Pick<Ledger, 'ask'> = ledger) {
    this.#db = db
    this.#ledger = ledger
    this.#door = door
    this.#audit = audit
    this.#reader = new StatementReader(db)
  }

  /** Does one operation. A repetition of one that is in flight in this process is rejected. */
  async ask(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer> {
    const [answer] = await this.askAll([{ customerId, meterId, operation }])
    return answer
  }

  /** Does the operations of one request, each with an answer. An id that comes twice among them is done once. */
  askAll(all: readonly Asked[]): Promise<readonly LedgerAnswer[]> {
    return this.#inFlight.run(all, (each) => this.#door.ask(each.customerId, each.meterId, each.operation))
  }

  /** Does what a person asks for, in one transaction with its entry in the audit log. */
  async change(customerId: string, meterId: string, operation: Operation, by: Actor): Promise<LedgerAnswer> {
    const recorded = (work: (tx: Sql) => Promise<LedgerAnswer>): Promise<LedgerAnswer> =>
      this.#audit.record(by, async (tx) => {
        const answer = await work(tx)
        return { result: answer, entries: isNew(answer) ? [entry] : [] }
      })
    const entry = {
      action: `ledger.${operation.kind}`,
      target: `ledger/${customerId}/${meterId}`,
      customerId,
      before: undefined,
      after: JSON.stringify(operation),
    }
    const [answer] = await this.#inFlight.run([{ customerId, meterId, operation }], () =>
      this.#ledger.askWith(customerId, meterId, operation, recorded),
    )
    return answer
  }

  /** Returns what a customer has of every meter that was ever used, as of the last operation on each. */
  accounts(customerId: string): Promise<readonly ShownAccount[]> {
    return this.#reader.accounts(customerId)
  }

  /**
   * Returns a page of the statement of the period in which a time lies. Undefined: there is no such period, or no
   * account.
   */
  async statement(query: EntryQuery, atMs: number | undefined): Promise<Statement | undefined> {
    // The account may have come to a new period since it was asked last.
    await this.ask(query.customerId, query.meterId, { kind: 'look' })
    return this.#reader.statement(query, atMs)
  }

  /** Returns what an account had at a time, from its entries alone. Undefined: there is no such account. */
  balanceAt(customerId: string, meterId: string, atMs: number): Promise<LedgerPage | undefined> {
    return this.#reader.balanceAt(customerId, meterId, atMs)
  }

  /** By meter: what its accounts drifted when they were last compared with usage. */
  get drifts(): ReadonlyMap<string, number> {
    return this.#drifts
  }

  /** Compares what was booked for rules with what usage says. */
  async reconcile(limits: readonly MeterLimit[]): Promise<Reconciliation> {
    const found = await reconcile(this.#db, limits)
    this.#drifts = found.meters
    return found
  }

  verify(): Promise<LedgerReport> {
    return verifyLedger(this.#db)
  }
}

/** Whether anything was done, and not before. */
function isNew({ outcome }: LedgerAnswer): boolean {
  if (['refused', 'rejected', 'unknown', 'buffered'].includes(outcome.kind)) return false
  return !('isRepeated' in outcome && outcome.isRepeated)
}
