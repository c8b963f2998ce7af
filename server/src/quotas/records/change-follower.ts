import { Backoff } from '../database/backoff.ts'
import type { Database } from '../database/database.ts'
import type { QuotaChange } from '../model.ts'
import { CHANNEL, readNews } from './change-log.ts'

export interface FollowerEvents {
  changed(changes: readonly QuotaChange[]): void
  missed(): void
  fault(error: Error | undefined): void
}

/**
 * A ChangeFollower reads the log of changes when a notice says that there is something, when notices may have been lost, and every now
 * and then. The log is what counts; notices only save time.
 */
export class ChangeFollower {
  readonly #db: Database
  readonly #events: FollowerEvents
  readonly #everyMs: number
  readonly #backoff = new Backoff(200, 10_000)
  readonly #stopListening: () => void
  #revision: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isReading = false
  #isDue = false
  #isFailing = false
  #isStopped = false

  constructor(db: Database, events: FollowerEvents, everyMs: number) {
    this.#db = db
    this.#events = events
    this.#everyMs = everyMs
    this.#stopListening = db.listen(
      CHANNEL,
      () => this.#look(),
      () => this.#look(),
    )
    this.#look()
  }

  /** A look that is asked for during another comes after it. */
  #look(): void {
    this.#isDue = true
    if (!this.#isReading) void this.#readWhileDue()
  }

  async #readWhileDue(): Promise<void> {
    this.#isReading = true
    clearTimeout(this.#timer)
    let waitMs = this.#everyMs
    while (this.#isDue && !this.#isStopped) {
      this.#isDue = false
      try {
        await this.#read()
      } catch (error) {
        waitMs = Math.min(this.#backoff.nextMs(), this.#everyMs)
        this.#isFailing = true
        if (!this.#isStopped) this.#events.fault(error as Error)
      }
    }
    this.#isReading = false
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#look(), waitMs).unref()
  }

  async #read(): Promise<void> {
    const { revision, changes } = await this.#db.transaction((tx) => readNews(tx, this.#revision), { snapshot: true })
    if (this.#isStopped) return
    const isFirst = this.#revision === undefined
    this.#revision = revision
    this.#backoff.reset()
    if (this.#isFailing) this.#events.fault(undefined)
    this.#isFailing = false
    if (isFirst || changes === undefined) this.#events.missed()
    else if (changes.length > 0) this.#events.changed(changes)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#stopListening()
  }
}
