import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { SluiceError } from 'sluice/internal/core/errors'
import type { LedgerCaller, NodeLedgerPort } from '../../admin/ledger/grpc/ledger-door.ts'
import type { Operation } from '../../ledger/core/account-state.ts'
import type { Asked } from '../../ledger/in-flight.ts'
import { Ledger } from '../../ledger/ledger.ts'
import type { LedgerAnswer } from '../../ledger/ledger-batch.ts'
import { LedgerService } from '../../ledger/ledger-service.ts'
import { Journal } from '../../ledger/outage/journal.ts'
import { type OutageEvents, OutageLedger } from '../../ledger/outage/outage-ledger.ts'
import { labelsOf } from '../../observe/metrics/labels.ts'
import type { ReportBuilder } from '../../observe/metrics/metrics-report.ts'
import { type DirectoryLock, renewEveryMs, takeLock } from '../../quotas/database/directory-lock.js'
import type { Quotas } from '../../quotas/open/open-quotas.ts'
import type { Log } from '../log/log.ts'

const EXPIRE_EVERY_MS = 10_000

/** A journal that this process alone has open. */
interface LockedJournal {
  readonly journal: Journal
  readonly lock: DirectoryLock
}

/**
 * Opens the journal of a data directory. Without one every meter is closed while the database is unavailable: so it is
 * where another process has it, or it cannot be read.
 */
export async function openJournal(dataDir: string, log: Log): Promise<LockedJournal | undefined> {
  const path = join(dataDir, 'ledger-journal')
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const lock = await takeLock(`${path}.lock`)
    if (lock === undefined) throw new Error('another process has it open')
    return { lock, journal: await Journal.open(path) }
  } catch (error) {
    const meanwhile = 'every meter is closed while the database is unavailable'
    log.error(
      'ledger.no_journal',
      `the journal of the ledger is not used, and ${meanwhile}: ${(error as Error).message}`,
    )
    return undefined
  }
}

/** The ledger of a node. Expired holds end within seconds, also for accounts that no one asks about. */
export class NodeLedger implements NodeLedgerPort {
  readonly service: LedgerService
  /** Throws where a caller may not use the ledger. The admin port knows its tokens. */
  admit: (caller: LedgerCaller) => Promise<void> = async () => {
    throw new SluiceError('DATABASE_UNAVAILABLE', 'ledger', 'the node is starting')
  }
  readonly #ledger: Ledger
  readonly #outage: OutageLedger
  readonly #locked: LockedJournal | undefined
  readonly #timers: readonly NodeJS.Timeout[]
  #isExpiring = false
  #lost = 0

  constructor({ db, audit }: Pick<Quotas, 'db' | 'audit'>, log: Log, locked?: LockedJournal) {
    this.#ledger = new Ledger(db)
    this.#locked = locked
    this.#outage = new OutageLedger(this.#ledger, locked?.journal, this.#eventsFor(log))
    this.service = new LedgerService(db, this.#ledger, audit, this.#outage)
    this.#timers = [
      setInterval(() => void this.#expire(), EXPIRE_EVERY_MS).unref(),
      setInterval(() => void this.#renew(), renewEveryMs).unref(),
    ]
  }

  ask(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer> {
    return this.service.ask(customerId, meterId, operation)
  }

  async askAs(caller: LedgerCaller, all: readonly Asked[]): Promise<readonly LedgerAnswer[]> {
    await this.admit(caller)
    return this.service.askAll(all)
  }

  #eventsFor(log: Log): OutageEvents {
    return {
      lost: ({ customerId, meterId, operation }, reason) => {
        this.#lost++
        const id = 'id' in operation ? operation.id : ''
        const what = `${operation.kind} ${id} of ${customerId} and ${meterId} was confirmed`
        log.error('ledger.lost', `${what}, and cannot be booked: ${reason}`, { customerId, meterId, id, reason })
      },
      began: ({ message }) =>
        log.warn(
          'ledger.buffering',
          `the database is unavailable: the ledger keeps operations on the disk: ${message}`,
        ),
      ended: (booked) => log.info('ledger.booked', 'the ledger has booked what it kept on the disk', { booked }),
    }
  }

  /** What is missing; '': nothing. */
  get degraded(): string {
    const { isAway, waiting } = this.#outage
    return isAway || waiting > 0 ? `the ledger has ${waiting} confirmed operations to book` : ''
  }

  report(into: ReportBuilder): void {
    const { isAway, waiting } = this.#outage
    into.add('ratelimit_ledger_buffering', '', Number(isAway || waiting > 0))
    into.add('ratelimit_ledger_waiting', '', waiting)
    into.add('ratelimit_ledger_lost_total', '', this.#lost)
    for (const [meter, drift] of this.service.drifts) into.add('ratelimit_ledger_drift', labelsOf({ meter }), drift)
  }

  /** Another process that took the journal, because this one seemed dead, must not find two writers in it. */
  async #renew(): Promise<void> {
    if (this.#locked?.lock.renew() === false) await this.#locked.journal.close()
  }

  /** While the database is unavailable nothing ends: a commit that comes late is settled by its own rule. */
  async #expire(): Promise<void> {
    if (this.#isExpiring) return
    this.#isExpiring = true
    await this.#ledger.expireHolds().catch(() => {})
    this.#isExpiring = false
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#outage.close()
    this.#locked?.lock.release()
  }
}
