import { EMPTY_LIST, KeyTally, type TallyList } from './key-tally.ts'

/** WINDOWS are the times that are looked back on, in minutes. */
export const WINDOWS = [1, 5, 60] as const
export type WindowMinutes = (typeof WINDOWS)[number]

const MINUTE_MS = 60_000
/** How long the slices of the last minute are: it closes one after that. */
export const SLICE_MS = 10_000
/** Beyond a minute ago slices are joined to such of a minute, beyond five to such of ten. */
const JOINED = [
  { olderMs: 5 * MINUTE_MS, spanMs: 10 * MINUTE_MS },
  { olderMs: MINUTE_MS, spanMs: MINUTE_MS },
] as const
const LONGEST_MS = 60 * MINUTE_MS

const NOTHING = Object.freeze({ 1: EMPTY_LIST, 5: EMPTY_LIST, 60: EMPTY_LIST })

interface Slice {
  readonly fromMs: number
  toMs: number
  readonly tally: KeyTally
}

/**
 * KeyWindows counts keys in the last minute, five and sixty. It counts into an open slice and keeps closed ones, about
 * 19 of them: a window is all slices that reach into it, so that it looks back up to 10 seconds, a minute or ten minutes
 * further than it says, and ten seconds more until the next turn. It has no clock: who calls says what time it is.
 */
export class KeyWindows {
  #open = new KeyTally()
  #openedMs: number
  /** The oldest first. */
  readonly #closed: Slice[] = []
  /** What the closed slices come to, as of the last turn: a report adds the open one. */
  #recent: Readonly<Record<WindowMinutes, TallyList>> = NOTHING

  constructor(nowMs: number) {
    this.#openedMs = nowMs
  }

  /** How many keys its slices hold; a key in several counts several times. */
  get held(): number {
    return this.#closed.reduce((sum, { tally }) => sum + tally.held, this.#open.held)
  }

  get isEmpty(): boolean {
    return this.#open.total === 0 && this.#closed.length === 0
  }

  /** add counts a key, so many times. It is on the hot path. */
  add(key: string, size: number, weight = 1): void {
    this.#open.add(key, size, weight)
  }

  /** turn closes the open slice when it is due, joins older ones and forgets the oldest. */
  turn(nowMs: number, size: number): void {
    if (nowMs - this.#openedMs < SLICE_MS) return
    if (this.#open.total > 0) {
      this.#open.cut(size)
      this.#closed.push({ fromMs: this.#openedMs, toMs: nowMs, tally: this.#open })
      this.#open = new KeyTally()
    }
    this.#openedMs = nowMs
    while (this.#closed.length > 0 && this.#closed[0].toMs <= nowMs - LONGEST_MS) this.#closed.shift()
    for (const { olderMs, spanMs } of JOINED) this.#join(nowMs - olderMs, spanMs, size)
    this.#recent = this.#closed.length === 0 ? NOTHING : this.#summed(nowMs, size)
  }

  /** cut has no slice hold more keys than that. */
  cut(size: number): void {
    this.#open.cut(size)
    for (const { tally } of this.#closed) tally.cut(size)
  }

  /** list returns the most frequent keys of the last minutes. */
  list(minutes: WindowMinutes, length: number): TallyList {
    const recent = this.#recent[minutes]
    if (recent.total === 0) return this.#open.list(length)
    const all = new KeyTally()
    all.takeList(recent)
    all.take(this.#open)
    return all.list(length)
  }

  /** #summed adds the closed slices up, from the newest on: each window has all that the shorter one has. */
  #summed(nowMs: number, size: number): Readonly<Record<WindowMinutes, TallyList>> {
    const all = new KeyTally()
    let at = this.#closed.length - 1
    const upTo = (minutes: WindowMinutes): TallyList => {
      for (; at >= 0 && this.#closed[at].toMs > nowMs - minutes * MINUTE_MS; at--) all.take(this.#closed[at].tally)
      return all.list(size)
    }
    return { 1: upTo(1), 5: upTo(5), 60: upTo(60) }
  }

  /** #join joins neighbours that ended before a time, as long as both together are no longer than a slice may be. */
  #join(endedMs: number, spanMs: number, size: number): void {
    for (let i = this.#closed.length - 1; i > 0; i--) {
      const [before, after] = [this.#closed[i - 1], this.#closed[i]]
      if (after.toMs > endedMs || after.toMs - before.fromMs > spanMs) continue
      before.tally.take(after.tally)
      before.tally.cut(size)
      before.toMs = after.toMs
      this.#closed.splice(i, 1)
    }
  }
}
