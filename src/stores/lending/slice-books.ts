import { storedKey } from '../../core/keys.ts'
import type { Limit } from '../../core/limit.ts'
import type { SliceReply, SliceRequest } from '../../engine/ports.ts'
import { type BookedCounter, SliceBook } from './slice-book.ts'

interface Kept {
  readonly book: SliceBook
  readonly counter: BookedCounter
}

/** How many books are checked with each exchange: more than one, so that ended books do not pile up. */
const LOOKED_AT = 2

/** Keeps the books of many counters, and closes those without holders. */
export class SliceBooks {
  /** In order of the last look, the oldest first. */
  readonly #kept = new Map<string, Kept>()
  /**
   * Continues from its last position: a new iterator would walk past every entry that was moved since the map last
   * grew.
   */
  #next = this.#kept.entries()

  get size(): number {
    return this.#kept.size
  }

  exchange(request: SliceRequest, nowMs: number, counter: BookedCounter): SliceReply {
    const name = storedKey(request.key, request.limit)
    const book = this.#kept.get(name)?.book ?? new SliceBook()
    const reply = book.exchange(request, nowMs, counter)
    this.#kept.set(name, { book, counter })
    this.#closeOldest(nowMs)
    return reply
  }

  /** Closes the book of a counter without charging what is out. */
  forget(stored: string): void {
    this.#kept.delete(stored)
  }

  /** Returns what is out of a counter, after charging it for what ran out. */
  outOf(key: string, limit: Limit, nowMs: number): number {
    const kept = this.#kept.get(storedKey(key, limit))
    return kept === undefined ? 0 : kept.book.outAt(nowMs, kept.counter)
  }

  #closeOldest(nowMs: number): void {
    for (let looked = 0; looked < LOOKED_AT && this.#kept.size > 0; looked++) {
      const next = this.#next.next()
      if (next.done) {
        this.#next = this.#kept.entries()
        continue
      }
      const [name, kept] = next.value
      kept.book.settle(nowMs, kept.counter)
      this.#kept.delete(name)
      if (!kept.book.isEmpty) this.#kept.set(name, kept)
    }
  }
}
