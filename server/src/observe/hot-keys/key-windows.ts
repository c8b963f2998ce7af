import { EMPTY_LIST, KeyTally, type TallyList } from './key-tally.ts'
import type { Steps } from './steps.ts'

/** The times that are looked back on, in minutes. */
export const WINDOWS = [1, 5, 60, 1_440] as const
export type WindowMinutes = (typeof WINDOWS)[number]

const MINUTE_MS = 60_000
/** How long the slices of the last minute are: it closes one after that. */
export const SLICE_MS = 10_000
/** Beyond a minute ago slices are joined to such of a minute, beyond five to such of ten. */
const JOINED = [
  { olderMs: 5 * MINUTE_MS, spanMs: 10 * MINUTE_MS },
  { olderMs: MINUTE_MS, spanMs: MINUTE_MS },
] as const
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** How many keys of the hours before the last one are reported. */
const DAY_LISTED = 256
/** The windows that slices of the last hour are summed up for. */
const SUMMED = [1, 5, 60] as const

const NOTHING = Object.freeze({ 1: EMPTY_LIST, 5: EMPTY_LIST, 60: EMPTY_LIST })

type Recent = Readonly<Record<(typeof SUMMED)[number], TallyList>>

interface Slice {
  readonly fromMs: number
  toMs: number
  readonly tally: KeyTally
}

/**
 * Counts keys in the last minute, five and sixty, and in the last day. It counts into an open slice and keeps closed
 * ones, about 19 of them, and of the rest of the day one for each hour, with fewer keys. A window is all slices that
 * reach into it, so that it looks back up to 10 seconds, a minute, ten minutes or an hour further than it says, and ten
 * seconds more until the next turn. It has no clock: who calls says what time it is.
 */
export class KeyWindows {
  #open = new KeyTally()
  #openedMs: number
  /** The oldest first. */
  readonly #closed: Slice[] = []
  /** The sum of the closed slices, as of the last turn: a report adds the open one. */
  #recent: Recent = NOTHING
  /** The hours before the last one, the oldest first, and their sum. */
  readonly #hours: Slice[] = []
  #day: TallyList = EMPTY_LIST

  constructor(nowMs: number) {
    this.#openedMs = nowMs
  }

  /** How many keys its slices hold; a key in several counts several times. */
  get held(): number {
    return this.heldClosed + this.#open.held + heldIn(this.#hours)
  }

  get heldClosed(): number {
    return heldIn(this.#closed)
  }

  get isEmpty(): boolean {
    return this.isQuiet && this.#hours.length === 0
  }

  /** Nothing was counted within the last hour. */
  get isQuiet(): boolean {
    return this.#open.total === 0 && this.#closed.length === 0
  }

  /** Counts a key `weight` times. On the hot path. */
  add(key: string, size: number, weight = 1): void {
    this.#open.add(key, size, weight)
  }

  /**
   * Closes the open slice when it is due, joins older ones and forgets the oldest. Hours before the last one hold
   * `daySize` keys.
   */
  *turn(nowMs: number, size: number, daySize: number): Steps {
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
    yield* this.#keepHours(nowMs, daySize)
    for (const { olderMs, spanMs } of JOINED) yield* this.#join(nowMs - olderMs, spanMs, size)
    this.#recent = this.#closed.length === 0 ? NOTHING : yield* this.#summed(nowMs, size)
  }

  /** Has the open slice hold no more keys than that. */
  cutOpen(size: number): void {
    this.#open.cut(size)
  }

  /** Has no closed slice hold more keys than that. */
  *cutClosed(size: number): Steps {
    for (const { tally } of this.#closed) {
      if (tally.held <= size) continue
      const { held } = tally
      tally.cut(size)
      yield held
    }
  }

  /** Returns the most frequent keys of each window. */
  *lists(length: number): Steps<Readonly<Record<WindowMinutes, TallyList>>> {
    const lists: Record<WindowMinutes, TallyList> = { ...NOTHING, 1440: EMPTY_LIST }
    for (const minutes of WINDOWS) {
      lists[minutes] = this.list(minutes, length)
      yield (minutes === 1_440 ? this.#day : this.#recent[minutes]).keys.length + this.#open.held
    }
    return lists
  }

  /** Returns the most frequent keys of the last minutes. */
  list(minutes: WindowMinutes, length: number): TallyList {
    const recent = minutes === 1_440 ? [this.#recent[60], this.#day] : [this.#recent[minutes]]
    if (recent.every(({ total }) => total === 0)) return this.#open.list(length)
    const all = new KeyTally()
    for (const list of recent) all.takeList(list)
    all.take(this.#open)
    return all.list(length)
  }

  /** Makes hours of slices that are older than one, and forgets what is older than a day. */
  *#keepHours(nowMs: number, size: number): Steps {
    let isChanged = false
    while (this.#closed.length > 0 && this.#closed[0].toMs <= nowMs - HOUR_MS) {
      const slice = this.#closed.shift() as Slice
      const last = this.#hours.at(-1)
      if (last !== undefined && slice.toMs - last.fromMs <= HOUR_MS) {
        last.tally.take(slice.tally)
        last.toMs = slice.toMs
      } else this.#hours.push(slice)
      isChanged = true
    }
    while (this.#hours.length > 0 && this.#hours[0].toMs <= nowMs - DAY_MS) {
      this.#hours.shift()
      isChanged = true
    }
    for (const { tally } of this.#hours) {
      if (tally.held <= size) continue
      const { held } = tally
      tally.cut(size)
      isChanged = true
      yield held
    }
    if (isChanged) this.#day = yield* this.#summedDay()
  }

  *#summedDay(): Steps<TallyList> {
    const all = new KeyTally()
    for (const { tally } of this.#hours) {
      all.take(tally)
      yield tally.held
    }
    return all.list(DAY_LISTED)
  }

  /** Adds the closed slices up, from the newest on: each window has all that the shorter one has. */
  *#summed(nowMs: number, size: number): Steps<Recent> {
    const all = new KeyTally()
    const sums = { ...NOTHING } as Record<keyof Recent, TallyList>
    let at = this.#closed.length - 1
    for (const minutes of SUMMED) {
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

  /** Joins neighbours that ended before a time, as long as both together are no longer than a slice may be. */
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

function heldIn(slices: readonly Slice[]): number {
  return slices.reduce((sum, { tally }) => sum + tally.held, 0)
}
