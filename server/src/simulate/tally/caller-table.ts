import type { KeyedHash } from 'sluice/internal/core/hash'
import { type Counts, count, noCounts, type Outcome } from './counts.ts'
import { Distinct } from './distinct.ts'

/** One caller of a report. */
export interface CallerCounts extends Counts {
  readonly caller: string
}

/** How many callers there were: `isExact` unless there were more than the table holds. */
export interface CallerTotals {
  readonly isExact: boolean
  readonly seen: number
  readonly refused: number
  readonly shadow: number
  readonly lost: number
  readonly gained: number
}

/** How much less than the truth the counts of a caller may be, where callers were forgotten. */
export interface Undercount {
  readonly requests: number
  readonly affected: number
}

/** How many callers a table holds. */
export const MOST_CALLERS = 200_000

type Kind = 'refused' | 'shadow' | 'lost' | 'gained'
const KINDS: readonly Kind[] = ['refused', 'shadow', 'lost', 'gained']

interface Row extends Counts {
  readonly caller: string
  readonly place: number
  readonly value: string
}

/**
 * Counts requests by caller, in bounded memory. Up to 200,000 callers, all numbers are exact. Then the half that the
 * rules touched least is forgotten: how many callers there are is estimated from then on (within 0.8 % for two of
 * three), and the counts of one may be too low, by no more than `undercount` says.
 */
export class CallerTable {
  /** By the entry that names the caller, and its value: to build a name for each request would cost more than to count it. */
  readonly #rows: Map<string, Row>[] = []
  #size = 0
  readonly #most: number
  /** How much a caller was touched by the rules. */
  readonly #affected: (counts: Counts) => number
  readonly #hash: KeyedHash
  /** From the first time on that callers are forgotten. */
  #distinct: ReadonlyMap<Kind | 'seen', Distinct> | undefined
  #missedRequests = 0
  #missedAffected = 0

  /** `isCompared`: what differs from other rules matters, in place of refusals. */
  constructor(hash: KeyedHash, isCompared = false, most = MOST_CALLERS) {
    this.#hash = hash
    this.#affected = isCompared ? ({ lost, gained }) => lost + gained : ({ refused, shadow }) => refused + shadow
    this.#most = most
  }

  /**
   * Counts a request of a caller. `place` is the place of the entry that names it, and `shown` formats it when it is
   * new.
   */
  add(place: number, value: string, shown: (value: string) => string, outcome: Outcome): void {
    const row = this.#rows[place]?.get(value) ?? this.#addRow(place, value, shown)
    count(row, outcome)
    if (this.#distinct !== undefined) this.#note(row, this.#distinct)
  }

  #addRow(place: number, value: string, shown: (value: string) => string): Row {
    if (this.#size >= this.#most) this.#forgetHalf()
    // A copy: a part of a block of text would keep all of it.
    const own = Buffer.from(value).toString()
    const row = { caller: shown(own), place, value: own, ...noCounts() }
    this.#rows[place] ??= new Map()
    this.#rows[place].set(own, row)
    this.#size++
    this.#distinct?.get('seen')?.add(row.caller)
    return row
  }

  *#all(): Generator<Row> {
    for (const rows of this.#rows) yield* rows?.values() ?? []
  }

  get totals(): CallerTotals {
    if (this.#distinct !== undefined) {
      const of = (kind: Kind | 'seen'): number => this.#distinct?.get(kind)?.estimate ?? 0
      const [seen, refused, shadow, lost, gained] = [of('seen'), of('refused'), of('shadow'), of('lost'), of('gained')]
      return { isExact: false, seen, refused, shadow, lost, gained }
    }
    const totals = { isExact: true, seen: this.#size, refused: 0, shadow: 0, lost: 0, gained: 0 }
    for (const row of this.#all()) for (const kind of KINDS) if (row[kind] > 0) totals[kind]++
    return totals
  }

  get undercount(): Undercount {
    return { requests: this.#missedRequests, affected: this.#missedAffected }
  }

  /** Returns the callers that the rules touched most, the most touched first. */
  top(length: number): readonly CallerCounts[] {
    const touched = [...this.#all()].filter((row) => this.#affected(row) > 0)
    // Not the value itself: it may be a secret.
    return touched
      .sort(this.#order)
      .slice(0, length)
      .map(({ place, value, ...shown }) => shown)
  }

  /** Orders by what the rules did, then by requests, then by name, so that equal traffic gives equal reports. */
  readonly #order = (a: Row, b: Row): number =>
    this.#affected(b) - this.#affected(a) || b.requests - a.requests || (a.caller < b.caller ? -1 : 1)

  #note(row: Row, distinct: ReadonlyMap<Kind | 'seen', Distinct>): void {
    for (const kind of KINDS) if (row[kind] === 1) distinct.get(kind)?.add(row.caller)
  }

  #forgetHalf(): void {
    if (this.#distinct === undefined) this.#estimate()
    const rows = [...this.#all()].sort(this.#order)
    const forgotten = rows.slice(rows.length >> 1)
    for (const { place, value } of forgotten) this.#rows[place].delete(value)
    this.#size -= forgotten.length
    this.#missedRequests += forgotten.reduce((most, { requests }) => Math.max(most, requests), 0)
    this.#missedAffected += this.#affected(forgotten[0])
  }

  #estimate(): void {
    const distinct = new Map([...KINDS, 'seen' as const].map((kind) => [kind, new Distinct(this.#hash)]))
    for (const row of this.#all()) {
      distinct.get('seen')?.add(row.caller)
      for (const kind of KINDS) if (row[kind] > 0) distinct.get(kind)?.add(row.caller)
    }
    this.#distinct = distinct
  }
}
