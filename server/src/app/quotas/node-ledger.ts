import { Ledger } from '../../ledger/ledger.ts'
import { LedgerService } from '../../ledger/ledger-service.ts'
import type { Quotas } from '../../quotas/open/open-quotas.ts'

const EXPIRE_EVERY_MS = 10_000

/** The ledger of a node. Expired holds end within seconds, also for accounts that no one asks about. */
export class NodeLedger {
  readonly service: LedgerService
  readonly #ledger: Ledger
  readonly #timer: NodeJS.Timeout
  #isExpiring = false

  constructor({ db, audit }: Pick<Quotas, 'db' | 'audit'>) {
    this.#ledger = new Ledger(db)
    this.service = new LedgerService(db, this.#ledger, audit)
    this.#timer = setInterval(() => void this.#expire(), EXPIRE_EVERY_MS).unref()
  }

  /** While the database is unavailable nothing ends: a commit that comes late is settled by its own rule. */
  async #expire(): Promise<void> {
    if (this.#isExpiring) return
    this.#isExpiring = true
    await this.#ledger.expireHolds().catch(() => {})
    this.#isExpiring = false
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
