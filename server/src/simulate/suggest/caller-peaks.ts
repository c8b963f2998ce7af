import type { KeyedHash } from 'sluice/internal/core/hash'

/** What a caller asked for most, in a group: all of its requests, or those to one endpoint. */
export interface Peaks {
  requests: number
  /** The most requests in any minute, ten minutes and hour, as a sliding window counts them. */
  minute: number
  tenMinutes: number
  hour: number
}

/** Whose requests: of one tier, to one endpoint ('' for all). */
export interface GroupName {
  readonly tier: string
  readonly endpoint: string
}

/** What the callers of a group did. */
export interface CallerGroup {
  readonly name: GroupName
  readonly requests: number
  readonly callers: readonly Peaks[]
}

/** How many callers, each in each of its groups, are held. */
export const MOST_ROWS = 200_000

/** Estimates the most hits in any window, as the algorithm `sliding_window` does. */
class SlidingPeak {
  most = 0
  #at = Number.NaN
  #now = 0
  #before = 0
  readonly #windowMs: number

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  add(timeMs: number): void {
    const at = Math.floor(timeMs / this.#windowMs)
    if (at !== this.#at) {
      this.#before = at === this.#at + 1 ? this.#now : 0
      this.#now = 0
      this.#at = at
    }
    this.#now++
    const elapsed = timeMs / this.#windowMs - at
    const count = this.#now + this.#before * (1 - elapsed)
    if (count > this.most) this.most = count
  }
}

interface Row {
  requests: number
  readonly minute: SlidingPeak
  readonly tenMinutes: SlidingPeak
  readonly hour: SlidingPeak
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/**
 * Measures callers in bounded memory. When there are too many, half of the callers are left out, chosen by a hash: the
 * others are held whole, so that percentiles stay those of all.
 */
export class CallerPeaks {
  readonly #groups = new Map<string, { readonly name: GroupName; readonly rows: Map<string, Row>; requests: number }>()
  readonly #hash: KeyedHash
  readonly #most: number
  #rows = 0
  /** How many bits of a caller's hash have to be 0 for it to be held. */
  #thinned = 0

  constructor(hash: KeyedHash, most = MOST_ROWS) {
    this.#hash = hash
    this.#most = most
  }

  /** The share of the callers that is held. */
  get share(): number {
    return 2 ** -this.#thinned
  }

  add(name: GroupName, caller: string, timeMs: number): void {
    const key = `${name.tier}\n${name.endpoint}`
    let group = this.#groups.get(key)
    if (group === undefined) {
      group = { name, rows: new Map(), requests: 0 }
      this.#groups.set(key, group)
    }
    group.requests++
    let row = group.rows.get(caller)
    if (row === undefined) {
      if (!this.#isHeld(caller)) return
      row = newRow()
      group.rows.set(Buffer.from(caller).toString(), row)
      if (++this.#rows > this.#most) this.#thin()
    }
    row.requests++
    row.minute.add(timeMs)
    row.tenMinutes.add(timeMs)
    row.hour.add(timeMs)
  }

  /** Returns the groups with the peaks of their callers, those with the most requests first. */
  get groups(): readonly CallerGroup[] {
    const all = [...this.#groups.values()].map(({ name, requests, rows }) => ({
      name,
      requests,
      callers: [...rows.values()].map(peaksOf),
    }))
    const nameOf = ({ tier, endpoint }: GroupName): string => `${tier}\n${endpoint}`
    return all.sort((a, b) => b.requests - a.requests || (nameOf(a.name) < nameOf(b.name) ? -1 : 1))
  }

  #isHeld(caller: string): boolean {
    if (this.#thinned === 0) return true
    this.#hash.of(caller, SPACE)
    return this.#hash.low >>> (32 - this.#thinned) === 0
  }

  #thin(): void {
    this.#thinned++
    for (const [key, { rows }] of this.#groups) {
      for (const caller of rows.keys()) if (!this.#isHeld(caller)) rows.delete(caller)
      // An endpoint that no one who is held asked for: of many such, most are random.
      if (rows.size === 0) this.#groups.delete(key)
    }
    this.#rows = [...this.#groups.values()].reduce((sum, { rows }) => sum + rows.size, 0)
  }
}

function newRow(): Row {
  const [minute, tenMinutes] = [new SlidingPeak(MINUTE_MS), new SlidingPeak(10 * MINUTE_MS)]
  return { requests: 0, minute, tenMinutes, hour: new SlidingPeak(HOUR_MS) }
}

function peaksOf({ requests, minute, tenMinutes, hour }: Row): Peaks {
  return { requests, minute: minute.most, tenMinutes: tenMinutes.most, hour: hour.most }
}

const SPACE = 0x5a39
