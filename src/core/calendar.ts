import { got, SluiceError } from './errors.ts'

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
  readonly #format: Intl.DateTimeFormat
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
    this.#format = zoneFormat(timeZone, `${where}.timeZone`)
  }

  windowAt(nowMs: number): CalendarWindow {
    if (contains(this.#last, nowMs)) return this.#last
    const lastButOne = this.#lastButOne
    this.#lastButOne = this.#last
    this.#last = contains(lastButOne, nowMs) ? lastButOne : this.#compute(nowMs, this.#localMs(nowMs))
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
    const window = { startMs: this.#instantOf(localStart), endMs: this.#instantOf(localEnd) }
    // Where a clock change repeats midnight, an instant can read as the day before or after the one it belongs to.
    if (nowMs < window.startMs) return this.#compute(nowMs, localStart - 1)
    return nowMs < window.endMs ? window : this.#compute(nowMs, localEnd)
  }

  /** Reads the zone's wall clock at an instant, as if that reading were UTC. */
  #localMs(instantMs: number): number {
    const part = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 }
    for (const { type, value } of this.#format.formatToParts(instantMs)) {
      if (type in part) part[type as keyof typeof part] = Number(value)
    }
    return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second)
  }

  /**
   * Finds the first instant at which the zone's wall clock reads localMs or later. Where daylight saving skips that
   * reading (midnight does not exist on some days in some zones), this is the moment of the skip.
   */
  #instantOf(localMs: number): number {
    let low = localMs - DAY_MS
    let high = localMs + DAY_MS
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.#localMs(middle) >= localMs) high = middle
      else low = middle + 1
    }
    return low
  }
}

function contains({ startMs, endMs }: CalendarWindow, instantMs: number): boolean {
  return startMs <= instantMs && instantMs < endMs
}

function zoneFormat(timeZone: string, where: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-u-ca-gregory-hc-h23', {
      timeZone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    throw new SluiceError('CALENDAR_INVALID', where, got(timeZone))
  }
}
