import { lentVerdict, type Verdict, verdictOf } from '../../core/decision.ts'
import { storedKey } from '../../core/keys.ts'
import type { Limit } from '../../core/limit.ts'
import {
  type Charge,
  type LendingStore,
  mayBeLent,
  type Notice,
  type NoticeListener,
  type SliceReply,
  type SliceRequest,
} from '../../engine/ports.ts'
import { CHARGE, LOOK, MemoryStore } from '../memory/memory-store.ts'
import { forcedLimit } from './forced-limit.ts'
import { lending } from './lending.ts'
import type { BookedCounter } from './slice-book.ts'

/** A memory store that lends slices of its counters to others in this process. */
export class LendingMemoryStore extends MemoryStore implements LendingStore {
  readonly #lending = lending()

  /** Forgets a counter, and what was lent of it. */
  override reset(key: string, limit: Pick<Limit, 'shape' | 'space'>): void {
    this.#lending.books.forget(storedKey(key, limit))
    super.reset(key, limit)
  }

  exchange(request: SliceRequest): SliceReply {
    const { key, limit } = request
    const nowMs = this.nowMs()
    const reply = this.#lending.books.exchange(request, nowMs, this.#booked(request))
    // What ran out was charged at its time, and may be worth nothing by now.
    if (this.charge(key, limit, nowMs, 0, LOOK).expiresAtMs <= nowMs) super.reset(key, limit)
    return reply
  }

  notify(notice: Notice): void {
    this.#lending.notices.notify(notice)
  }

  listen(listener: NoticeListener): () => void {
    return this.#lending.notices.listen(listener)
  }

  protected override lentOf(charge: Charge, nowMs: number): number {
    const { books } = this.#lending
    return books.size === 0 || !mayBeLent(charge) ? 0 : books.outOf(charge.key, charge.limit, nowMs)
  }

  protected override withLent(
    { key, limit }: Charge,
    lent: number,
    nowMs: number,
    cost: number,
    alone: Verdict,
  ): Verdict {
    if (!alone.allowed) return { ...alone, remaining: Math.max(0, alone.remaining - lent) }
    if (cost + lent > limit.capacity) return lentVerdict(limit.max, alone.resetAfterMs, 1)
    const out = this.charge(key, limit, nowMs, cost + lent, LOOK)
    const isSpent = cost === 0 && out.remaining === 0
    if (out.allowed && !isSpent) return verdictOf(out, limit)
    return lentVerdict(limit.max, out.resetAfterMs, Math.max(out.retryAfterMs, 1))
  }

  /** Returns a counter as its slice book sees it. */
  #booked({ key, limit }: SliceRequest): BookedCounter {
    return {
      look: (cost, nowMs) => {
        const { remaining, resetAfterMs, retryAfterMs } = this.charge(key, limit, nowMs, cost, LOOK)
        return { remaining, resetAfterMs, retryAfterMs }
      },
      charge: (cost, nowMs) => {
        if (limit.capacity > 0) this.charge(key, forcedLimit(limit), nowMs, cost, CHARGE)
      },
    }
  }
}
