import type { QuotaTable } from '../../quotas/model.ts'
import type { FeedState } from '../../quotas/records/quota-feed.ts'
import type { Log } from '../log/log.ts'

const NOT_DURABLE =
  'the ledger is on the embedded database, which does not wait for the disk: a power cut can lose confirmed entries; bill from PostgreSQL only (--database)'

/** Logs what happens to the database of a node, each thing once. */
export class QuotaNotices {
  readonly #log: Log
  readonly #isLocal: boolean
  #reason: string | undefined
  #isInForce = false

  /** `isLocal`: the database is embedded, and nothing waits for its disk. */
  constructor(log: Log, isLocal = false) {
    this.#log = log
    this.#isLocal = isLocal
  }

  /** Called after each failed attempt; logs when the reason is new. */
  away({ message }: Error, state: FeedState['kind']): void {
    if (message === this.#reason) return
    this.#reason = message
    const meanwhile =
      state === 'empty'
        ? 'rules decide alone: blocks and individual limits are not known yet'
        : 'the last known records stay in force'
    this.#log.warn('database.away', `the database is unavailable, and is tried again; ${meanwhile}: ${message}`)
  }

  back(): void {
    if (this.#reason === undefined) return
    this.#reason = undefined
    this.#log.info('database.back', 'the database has recovered')
  }

  /** Called when every process decides by the records. */
  inForce(counts: Readonly<Record<QuotaTable, number>>, revision: number): void {
    if (this.#isInForce) return
    this.#isInForce = true
    const { customers, api_keys, overrides, blocks } = counts
    this.#log.info('quotas.loaded', 'quotas are in force', { revision, customers, api_keys, overrides, blocks })
    if (this.#isLocal && counts.meters > 0) this.#log.warn('ledger.not_durable', NOT_DURABLE)
  }

  /** Called when the node takes requests before every process has the records. */
  degraded(afterMs: number): void {
    const meanwhile = 'it takes requests now, and may miss blocks and individual limits'
    this.#log.error('quotas.degraded', `the records are not in force after ${afterMs} ms: ${meanwhile}`, { afterMs })
  }

  firstToken(file: string): void {
    this.#log.warn('admin.first_token', `the first token, for an admin, is in ${file}: log in to the dashboard with it`)
  }

  /** Says that the database has no token, and why this node made none. */
  noFirstToken(reason: string): void {
    const command = 'sluice token create --role admin --database URL'
    this.#log.warn('admin.no_token', `the admin API has no token yet; make one with "${command}" (${reason})`)
  }
}
