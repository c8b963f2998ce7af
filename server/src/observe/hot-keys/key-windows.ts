import { EMPTY_LIST, KeyTally, type TallyList } from './key-tally.ts'
import type { Steps } from './steps.ts'

/** WINDOWS are the times that are looked back on, in minutes. */
export const WINDOWS = [1, 5, 60, 1_440] as const
export type WindowMinutes = (typeof WINDOWS)[number]

const MINUTE_MS = 60_000
/** How long the slices of the last minute are: it closes one after that. */
export const SLICE_MS = 10_000
/** Beyond a minute ago slices are joined to such of a minute, beyond five to such of ten, beyond an hour to such of an hour. */
const JOINED = [
  { olderMs: 60 * MINUTE_MS, spanMs: 60 * MINUTE_MS },
  { olderMs: 5 * MINUTE_MS, spanMs: 10 * MINUTE_MS },
  { olderMs: MINUTE_MS, spanMs: MINUTE_MS },
] as const
const LONGEST_MS = 1_440 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS

const NOTHING = Object.freeze({ 1: EMPTY_LIST, 5: EMPTY_LIST, 60: EMPTY_LIST, 1440: EMPTY_LIST })

interface Slice {
  readonly fromMs: number
  toMs: number
  readonly tally: KeyTally
}

/**
 * KeyWindows counts keys in the last minute, five, sixty, and in the last day. It counts into an open slice and keeps closed ones, about
 * 43 of them: a window is all slices that reach into it, so that it looks back up to 10 seconds, a minute, ten minutes or an hour
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

  get heldClosed(): number {
    return this.held - this.#open.held
  }

  get isEmpty(): boolean {
    return this.#open.total === 0 && this.#closed.length === 0
  }

  /** isQuiet says whether nothing was counted within the last hour. */
  isQuiet(nowMs: number): boolean {
    const last = this.#closed.at(-1)
    return this.#open.total === 0 && (last === undefined || last.toMs <= nowMs - HOUR_MS)
  }

  /** add counts a key, so many times. It is on the hot path. */
  add(key: string, size: number, weight = 1): void {
    this.#open.add(key, size, weight)
  }

  /** turn closes the open slice when it is due, joins older ones and forgets the oldest. */
  *turn(nowMs: number, size: number): Steps {
    if (nowMs - this.#openedMs < SLICE_MS) return
    if (this.#open.total > 0) {
      const { held } = this.#open
      this.#open.cut(size)
      this.#closed.push({ fromMs: this.#openedMs, toMs: nowMs, tally: this.#open })
      this.#open = new KeyTally()
      this.#openedMs = nowMs
      yield held
    }
    this.#openedMs = nowMs
    while (this.#closed.length > 0 && this.#closed[0].toMs <= nowMs - LONGEST_MS) this.#closed.shift()
    for (const { olderMs, spanMs } of JOINED) yield* this.#join(nowMs - olderMs, spanMs, size)
    this.#recent = this.#closed.length === 0 ? NOTHING : yield* this.#summed(nowMs, size)
  }

  /** cutOpen has the open slice hold no more keys than that. */
  cutOpen(size: number): void {
    this.#open.cut(size)
  }

  /** cutClosed has no closed slice hold more keys than that. */
  *cutClosed(size: number): Steps {
    for (const { tally } of this.#closed) {
      if (tally.held <= size) continue
      const { held } = tally
      tally.cut(size)
      yield held
    }
  }

  /** lists returns the most frequent keys of each window. */
  *lists(length: number): Steps<Readonly<Record<WindowMinutes, TallyList>>> {
    const lists: Record<WindowMinutes, TallyList> = { ...NOTHING }
    for (const minutes of WINDOWS) {
      lists[minutes] = this.list(minutes, length)
      yield this.#recent[minutes].keys.length + this.#open.held
    }
    return lists
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
  *#summed(nowMs: number, size: number): Steps<Readonly<Record<WindowMinutes, TallyList>>> {
    const all = new KeyTally()
    const sums: Record<WindowMinutes, TallyList> = { ...NOTHING }
    let at = this.#closed.length - 1
    for (const minutes of WINDOWS) {
      for (; at >= 0 && this.#closed[at].toMs > nowMs - minutes * MINUTE_MS; at--) {
        const { tally } = this.#closed[at]
        all.take(tally)
        yield tally.held
      }
      sums[minutes] = all.list(size)
      yield all.held
    }
    return sums
  }

  /** #join joins neighbours that ended before a time, as long as both together are no longer than a slice may be. */
  *#join(endedMs: number, spanMs: number, size: number): Steps {
    for (let i = this.#closed.length - 1; i > 0; i--) {
      const [before, after] = [this.#closed[i - 1], this.#closed[i]]
      if (after.toMs > endedMs || after.toMs - before.fromMs > spanMs) continue
      before.tally.take(after.tally)
      const { held } = before.tally
      before.tally.cut(size)
      before.toMs = after.toMs
      this.#closed.splice(i, 1)
      yield held
    }
  }
}
