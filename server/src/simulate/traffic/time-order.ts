/** A request of a log: when it came, the values of its fields, and the log that they are of. */
export interface TrafficLine<Source> {
  timeMs: number
  readonly values: readonly string[]
  readonly source: Source
}

export interface TimeOrderOptions {
  /** How far behind the newest line another may be, to be put in its place. */
  readonly windowMs: number
  /** Spaces the lines of one second evenly, for logs of whole seconds. */
  readonly isSpread: boolean
}

/** How many lines are held to be put in order. */
const MOST_HELD = 200_000
/** A line further ahead than this is believed when the next one confirms it. */
const JUMP_MS = 3_600_000

interface Second<Source> {
  readonly lines: TrafficLine<Source>[]
  isOrdered: boolean
}

/**
 * Puts lines in the order of their times: servers write a line when a request ends. Holds the seconds of the window,
 * and at most 200,000 lines. A line further behind is passed over, because it would be decided at a wrong time; so is a
 * single line far ahead, which would pass all others over.
 */
export class TimeOrder<Source> {
  readonly #windowMs: number
  readonly #isSpread: boolean
  readonly #decide: (line: TrafficLine<Source>) => void
  readonly #seconds = new Map<number, Second<Source>>()
  /** The first second that may still be held. */
  #oldest = Number.POSITIVE_INFINITY
  #newestMs = Number.NEGATIVE_INFINITY
  /** Lines released are not later than this. */
  #releasedMs = Number.NEGATIVE_INFINITY
  #held = 0
  #doubted: TrafficLine<Source> | undefined
  /** Lines that came later than the window allows. */
  late = 0
  /** How far behind the newest line the latest of them was. */
  latestMs = 0
  /** Lines whose time is far from that of their neighbours. */
  astray = 0
  /** Lines that were decided up to a window after their time, because too many came at once. */
  moved = 0

  constructor({ windowMs, isSpread }: TimeOrderOptions, decide: (line: TrafficLine<Source>) => void) {
    this.#windowMs = windowMs
    this.#isSpread = isSpread
    this.#decide = decide
  }

  push(line: TrafficLine<Source>): void {
    const doubted = this.#doubted
    if (doubted !== undefined) {
      this.#doubted = undefined
      if (line.timeMs >= doubted.timeMs - JUMP_MS) this.#accept(doubted)
      else this.astray++
    }
    if (line.timeMs > this.#newestMs + JUMP_MS) this.#doubted = line
    else this.#accept(line)
  }

  /** Decides what is held. */
  flush(): void {
    if (this.#doubted !== undefined) this.#accept(this.#doubted)
    this.#doubted = undefined
    this.#releaseBefore(Number.POSITIVE_INFINITY)
  }

  #accept(line: TrafficLine<Source>): void {
    const { timeMs } = line
    const behindMs = this.#newestMs - timeMs
    if (behindMs > this.#windowMs) {
      this.late++
      if (behindMs > this.latestMs) this.latestMs = behindMs
      return
    }
    if (timeMs < this.#releasedMs) {
      line.timeMs = this.#releasedMs
      this.moved++
    }
    this.#hold(line)
    if (timeMs <= this.#newestMs) return
    this.#newestMs = timeMs
    this.#releaseBefore(Math.floor((timeMs - this.#windowMs) / 1_000))
  }

  #hold(line: TrafficLine<Source>): void {
    const second = Math.floor(line.timeMs / 1_000)
    const held = this.#seconds.get(second)
    if (held === undefined) {
      this.#seconds.set(second, { lines: [line], isOrdered: true })
      if (second < this.#oldest) this.#oldest = second
    } else {
      if (line.timeMs < held.lines[held.lines.length - 1].timeMs) held.isOrdered = false
      held.lines.push(line)
    }
    if (++this.#held > MOST_HELD) this.#releaseOldest()
  }

  #releaseOldest(): void {
    this.#release(this.#oldest)
    this.#oldest = Math.min(...this.#seconds.keys())
  }

  #releaseBefore(second: number): void {
    while (this.#oldest < second) this.#releaseOldest()
  }

  #release(second: number): void {
    const { lines, isOrdered } = this.#seconds.get(second) as Second<Source>
    this.#seconds.delete(second)
    this.#held -= lines.length
    if (!isOrdered) lines.sort((a, b) => a.timeMs - b.timeMs)
    if (this.#isSpread) spread(lines, second * 1_000)
    for (let i = 0; i < lines.length; i++) this.#decide(lines[i])
    const last = lines[lines.length - 1].timeMs
    if (last > this.#releasedMs) this.#releasedMs = last
  }
}

/** Spaces lines of one second evenly where all of them have its first millisecond. */
function spread(lines: readonly TrafficLine<unknown>[], startMs: number): void {
  if (lines[lines.length - 1].timeMs !== startMs) return
  for (let i = 0; i < lines.length; i++) lines[i].timeMs = startMs + Math.floor((i * 1_000) / lines.length)
}
