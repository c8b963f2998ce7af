import type { SliceReply, SliceRequest } from '../../engine/ports.ts'

/** The counter whose budget is lent. */
export interface BookedCounter {
  /** Returns what the algorithm answers to a cost at a time. Nothing is charged. */
  look(cost: number, nowMs: number): CounterLook
  /** Charges a cost at a time, whether it fits or not. */
  charge(cost: number, nowMs: number): void
}

export interface CounterLook {
  readonly remaining: number
  readonly resetAfterMs: number
  readonly retryAfterMs: number
}

interface Holding {
  readonly sequence: number
  readonly spent: number
  readonly held: number
  expiresAtMs: number
}

/** What one holder has of a counter, as plain data. */
export interface HeldSlice extends Readonly<Holding> {
  readonly holder: string
}

/** A book as plain data, for stores that keep it elsewhere. */
export interface BookAccount {
  readonly touchedMs: number
  readonly slices: readonly HeldSlice[]
}

/** What is lent in advance is at most this part of the remaining budget, divided by the number of holders. */
const AHEAD_SHARE = 4

/**
 * Records which holder has how much of one counter's budget. At any time the counter has room for all that is lent. So
 * what holders spend before they report it could have been charged at that moment, and what they report is charged
 * later than it was spent, never earlier: no window holds more than the algorithm admits, for every algorithm.
 *
 * A holder spends for leaseMs after it asked. The book waits twice as long, from when it was asked, so that clocks may
 * differ, or the book's be set forward, by up to a lease. Then it charges everything unaccounted for, at the moment it
 * ran out.
 */
export class SliceBook {
  readonly #holdings = new Map<string, Holding>()
  #out = 0
  #touchedMs = Number.NEGATIVE_INFINITY

  /** Makes a book of what `account` returned. */
  static of({ touchedMs, slices }: BookAccount): SliceBook {
    const book = new SliceBook()
    book.#touchedMs = touchedMs
    for (const { holder, sequence, spent, held, expiresAtMs } of slices) {
      book.#holdings.set(holder, { sequence, spent, held, expiresAtMs })
      book.#out += held
    }
    return book
  }

  get account(): BookAccount {
    const slices = Array.from(this.#holdings, ([holder, holding]): HeldSlice => ({ holder, ...holding }))
    return { touchedMs: this.#touchedMs, slices }
  }

  /** When the last of what is lent runs out. */
  get endsAtMs(): number {
    let endsAtMs = Number.NEGATIVE_INFINITY
    for (const { expiresAtMs } of this.#holdings.values()) endsAtMs = Math.max(endsAtMs, expiresAtMs)
    return endsAtMs
  }

  /** All that is out. */
  get out(): number {
    return this.#out
  }

  /** True when no holder is remembered. */
  get isEmpty(): boolean {
    return this.#holdings.size === 0
  }

  /** Charges what ran out by nowMs. */
  settle(nowMs: number, counter: BookedCounter): void {
    const touchedMs = this.#touchedMs
    this.#touchedMs = nowMs
    const ended: [string, Holding][] = []
    for (const [holder, holding] of this.#holdings) {
      // A clock that was set back: what ran before runs on for as long as it had left.
      if (nowMs < touchedMs) holding.expiresAtMs -= touchedMs - nowMs
      if (holding.expiresAtMs <= nowMs) ended.push([holder, holding])
    }
    if (ended.length > 1) ended.sort(([, a], [, b]) => a.expiresAtMs - b.expiresAtMs)
    for (const [holder, { held, expiresAtMs }] of ended) {
      this.#holdings.delete(holder)
      this.#out -= held
      if (held > 0) counter.charge(held, Math.min(Math.max(expiresAtMs, touchedMs), nowMs))
    }
  }

  /** Returns all that is out at a time, after charging the counter for what ran out by then. */
  outAt(nowMs: number, counter: BookedCounter): number {
    if (this.#out > 0 && this.#isDue(nowMs)) this.settle(nowMs, counter)
    return this.#out
  }

  #isDue(nowMs: number): boolean {
    if (nowMs < this.#touchedMs) return true
    for (const { expiresAtMs } of this.#holdings.values()) if (expiresAtMs <= nowMs) return true
    return false
  }

  /** Drops everything without a charge: the lender of this node accounts for what is out. */
  forget(): void {
    this.#holdings.clear()
    this.#out = 0
  }

  /** Takes a holder's account, and lends. */
  exchange(request: SliceRequest, nowMs: number, counter: BookedCounter): SliceReply {
    this.settle(nowMs, counter)
    const { holder, sequence, spent } = request
    const known = this.#holdings.get(holder)
    if (known !== undefined && sequence <= known.sequence) return this.#reply(request, nowMs, counter, true)
    const newlySpent = spent - (known?.spent ?? request.confirmed)
    if (newlySpent > 0) counter.charge(newlySpent, nowMs)
    this.#out -= known?.held ?? 0
    const free = Math.max(0, counter.look(0, nowMs).remaining - this.#out)
    // A holder keeps no more than is known to be held. A holder that the book has forgotten keeps no more than there
    // is.
    const keep = Math.min(request.keep, known === undefined ? free : Math.max(0, known.held - newlySpent))
    const held = keep + this.#granted(request, keep, free - keep)
    this.#out += held
    this.#holdings.set(holder, { sequence, spent, held, expiresAtMs: nowMs + 2 * request.leaseMs })
    return this.#reply(request, nowMs, counter, false)
  }

  #granted({ need, ahead, holder }: SliceRequest, keep: number, free: number): number {
    if (free <= 0) return 0
    const needed = Math.min(need, free)
    const share = Math.floor((free - needed) / (AHEAD_SHARE * (1 + this.#othersOf(holder))))
    return needed + Math.max(0, Math.min(ahead, share - keep))
  }

  #othersOf(one: string): number {
    let count = 0
    for (const [holder, { held }] of this.#holdings) if (held > 0 && holder !== one) count++
    return count
  }

  #reply({ holder, cost, leaseMs }: SliceRequest, nowMs: number, counter: BookedCounter, isStale: boolean): SliceReply {
    const { remaining } = counter.look(0, nowMs)
    const free = Math.max(0, remaining - this.#out)
    // What is lent is reported as if it were spent; otherwise a budget that is lent as a whole would seem unused.
    const { resetAfterMs } = counter.look(Math.min(this.#out, remaining), nowMs)
    const isShort = free < cost
    return {
      isStale,
      held: this.#holdings.get(holder)?.held ?? 0,
      leaseMs,
      free,
      holders: 1 + this.#othersOf(holder),
      resetAfterMs,
      retryAfterMs: isShort ? counter.look(cost, nowMs).retryAfterMs : 0,
      lentRetryAfterMs: isShort ? counter.look(cost + this.#out, nowMs).retryAfterMs : 0,
    }
  }
}
