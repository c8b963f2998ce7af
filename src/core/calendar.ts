import { got, SluiceError } from './errors.ts'
import { ZoneClock } from './zone-clock.ts'

export type CalendarUnit = 'day' | 'week' | 'month' | 'year'

/** Makes a window a day, week, month or year of a time zone. */
export interface CalendarOptions {
  readonly unit: CalendarUnit
  /** An IANA zone such as `Europe/Berlin`. Default: `UTC`. */
  readonly timeZone?: string
  /**
   * Callers that are customers' count in the zone of their customer; `timeZone` is that of all others. Default: false.
   */
  readonly isOfCustomer?: boolean
}

/** The half-open span [startMs, endMs) of one day, week, month or year. */
export interface CalendarWindow {
  readonly startMs: number
  readonly endMs: number
}

const UNITS: ReadonlySet<string> = new Set(['day', 'week', 'month', 'year'])
const DAY_MS = 86_400_000

/**
 * Finds the calendar window of an instant in a time zone, daylight saving included. Weeks start on Monday (ISO 8601).
 * It remembers the last two windows, because questions nearly always fall into the current one, or, when a counter is
 * met again after a turn of the calendar, into the one before: asking the time zone database takes a quarter of a
 * millisecond, comparing two numbers nothing.
 */
export class Calendar {
  readonly unit: CalendarUnit
  readonly timeZone: string
  readonly isOfCustomer: boolean
  readonly #clock: ZoneClock
  #last: CalendarWindow = { startMs: 0, endMs: 0 }
  #lastButOne: CalendarWindow = this.#last

  constructor(options: CalendarOptions, where: string) {
    const { unit, timeZone = 'UTC', isOfCustomer = false, ...unknown } = options
    if (!UNITS.has(unit)) throw new SluiceError('CALENDAR_INVALID', `${where}.unit`, got(unit))
    for (const option of Object.keys(unknown)) {
      throw new SluiceError('OPTION_UNKNOWN', `${where}.${option}`, 'unknown option')
    }
    this.unit = unit
    this.timeZone = timeZone
    this.isOfCustomer = isOfCustomer
    this.#clock = new ZoneClock(timeZone, `${where}.timeZone`)
  }

  windowAt(nowMs: number): CalendarWindow {
    if (contains(this.#last, nowMs)) return this.#last
    const lastButOne = this.#lastButOne
    this.#lastButOne = this.#last
    this.#last = contains(lastButOne, nowMs) ? lastButOne : this.#compute(nowMs, this.#clock.localMs(nowMs))
    return this.#last
  }

  /** Returns the longest that a window of this unit can last: clocks are set back by up to 3 hours (Casey, 2023). */
  get longestMs(): number {
    return { day: 1, week: 7, month: 31, year: 366 }[this.unit] * DAY_MS + 3 * 3_600_000
  }

  #compute(nowMs: number, localMs: number): CalendarWindow {
    const today = new Date(localMs)
    const [year, month, day] = [today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()]
    const monday = day - ((today.getUTCDay() + 6) % 7)
    const dates: Record<CalendarUnit, [start: number, end: number]> = {
      day: [Date.UTC(year, month, day), Date.UTC(year, month, day + 1)],
      week: [Date.UTC(year, month, monday), Date.UTC(year, month, monday + 7)],
      month: [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)],
      year: [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)],
    }
    const [localStart, localEnd] = dates[this.unit]
    const window = { startMs: this.#clock.instantOf(localStart), endMs: this.#clock.instantOf(localEnd) }
    // Where a clock change repeats midnight, an instant can read as the day before or after the one it belongs to.
    if (nowMs < window.startMs) return this.#compute(nowMs, localStart - 1)
    return nowMs < window.endMs ? window : this.#compute(nowMs, localEnd)
  }
}

function contains({ startMs, endMs }: CalendarWindow, instantMs: number): boolean {
  return startMs <= instantMs && instantMs < endMs
}
