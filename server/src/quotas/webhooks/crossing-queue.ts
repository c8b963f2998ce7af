import type { Database } from '../database/database.ts'
import type { Crossing } from '../usage/usage-news.ts'
import { insertDeliveries } from './insert-deliveries.ts'
import { onceOf, thresholdEvent } from './webhook-event.ts'

/**
 * How many crossings wait for the database at most. One that is dropped is found again with the caller's next request
 * elsewhere.
 */
const MAX_WAITING = 10_000
const BATCH_CROSSINGS = 500

/** A CrossingQueue makes deliveries of crossings: one for each endpoint that wants it, once. */
export class CrossingQueue {
  readonly #db: Database
  readonly #now: () => number
  readonly #waiting = new Map<string, Crossing>()

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db
    this.#now = now
  }

  take(crossings: readonly Crossing[]): void {
    for (const crossing of crossings) {
      if (this.#waiting.size < MAX_WAITING) this.#waiting.set(onceOf(crossing), crossing)
    }
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Writes deliveries to the database, and returns how many there are. It rejects when the database does. */
  async write(): Promise<number> {
    let deliveries = 0
    while (this.#waiting.size > 0) {
      const some = [...this.#waiting].slice(0, BATCH_CROSSINGS)
      const events = some.map(([, crossing]) => ({ ...thresholdEvent(crossing, this.#now()), ...crossing }))
      deliveries += await insertDeliveries(this.#db, events, this.#now())
      for (const [once] of some) this.#waiting.delete(once)
    }
    return deliveries
  }
}
