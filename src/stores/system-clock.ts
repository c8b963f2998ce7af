import { type Clock, SteadyClock } from '../core/clock.ts'

/** Undefined in runtimes that are not Node.js. */
const hrtime: typeof process.hrtime | undefined = globalThis.process?.hrtime
/** The real wall clock; undefined where a fake clock was installed when this module was loaded. */
const realNow = /\[native code\]/.test(String(Date.now)) ? Date.now : undefined

/**
 * Makes a steady clock of this machine. hrtime is the cheapest way here to ask for the time. Where fake timers have
 * taken the place of Date, time is theirs: tests move it.
 */
export function systemClock(): Clock {
  return new SystemClock()
}

/** Returns the monotonic clock of this machine. */
export function monotonicMs(): number {
  if (hrtime === undefined) return performance.now()
  const time = hrtime()
  return time[0] * 1_000 + time[1] / 1_000_000
}

/**
 * The steady clock, or the fake one while there is one. It never moves backwards: where another clock is behind, it
 * continues from its last value and advances by as much.
 */
class SystemClock implements Clock {
  /** Made when first asked, so that a fake clock that was there before may show any date. */
  #steady: SteadyClock | undefined
  /** The steady clock, where it is all that there is to ask. */
  #plain: SteadyClock | undefined
  #isFake = false
  #aheadMs = 0
  #lastMs = Number.NEGATIVE_INFINITY

  nowMs(): number {
    // Every decision passes here: no call more than is needed.
    if (this.#plain !== undefined && Date.now === realNow) return this.#plain.msAt(monotonicMs())
    return this.#followedMs()
  }

  #followedMs(): number {
    if (this.#plain !== undefined) this.#lastMs = this.#steadyMs()
    const isFake = Date.now !== realNow
    const ms = isFake ? Math.floor(Date.now()) : this.#steadyMs()
    if (isFake !== this.#isFake) this.#aheadMs = 0
    this.#isFake = isFake
    this.#aheadMs = Math.max(this.#aheadMs, this.#lastMs - ms)
    this.#lastMs = ms + this.#aheadMs
    this.#plain = !isFake && this.#aheadMs === 0 ? this.#steady : undefined
    return this.#lastMs
  }

  #steadyMs(): number {
    this.#steady ??= new SteadyClock(Date.now, monotonicMs)
    return this.#steady.nowMs()
  }
}
