import { ZoneClock } from 'sluice/internal/core/zone-clock'

export type PeriodUnit = 'day' | 'week' | 'month' | 'year'

/** A Period is the half-open span [startMs, endMs) for which an allowance is given. */
export interface Period {
  readonly startMs: number
  readonly endMs: number
}

export interface PeriodOptions {
  readonly unit: PeriodUnit
  readonly timeZone: string
  /**
   * A day on which a period begins, as `2026-01-31`. Undefined: the first of the month or year; weeks begin on Monday
   * (ISO 8601).
   */
  readonly anchor?: string | undefined
}

const DAY_MS = 86_400_000
const NO_ANCHOR = '1970-01-01'
const MONDAY = 4
const HALF_MS: Readonly<Record<PeriodUnit, number>> = {
  day: 12 * 3_600_000,
  week: 3.5 * DAY_MS,
  month: 14 * DAY_MS,
  year: 182 * DAY_MS,
}

/**
 * A PeriodCalendar finds the periods of a customer. Boundary n is worked out from the anchor and n alone, never from
 * boundary n − 1: the 31st becomes the 28th in February and is the 31st again in March. Days last as long as the
 * clock of the time zone says.
 */
export class PeriodCalendar {
  readonly #unit: PeriodUnit
  readonly #clock: ZoneClock
  readonly #anchor: { readonly month: number; readonly day: number; readonly weekday: number }

  constructor({ unit, timeZone, anchor = NO_ANCHOR }: PeriodOptions) {
    this.#unit = unit
    this.#clock = new ZoneClock(timeZone, 'time_zone')
    const date = new Date(`${anchor}T00:00:00Z`)
    const weekday = anchor === NO_ANCHOR ? 0 : (date.getUTCDay() + 6) % 7
    this.#anchor = { month: date.getUTCMonth(), day: date.getUTCDate(), weekday }
  }

  /** Returns the period of an instant. Periods of one calendar neither overlap nor leave a gap. */
  at(instantMs: number): Period {
    let n = this.#numberOf(this.#clock.localMs(instantMs))
    let startMs = this.#boundary(n)
    let endMs = this.#boundary(n + 1)
    // Where a clock is set back over midnight, or a day is skipped, the reading of the clock is that of a neighbour.
    while (instantMs < startMs) [n, startMs, endMs] = [n - 1, this.#boundary(n - 1), startMs]
    while (instantMs >= endMs) [n, startMs, endMs] = [n + 1, endMs, this.#boundary(n + 2)]
    return { startMs, endMs }
  }

  /**
   * Returns the period of an instant for an account whose last period ended at `endedMs`. Where the calendar was
   * changed meanwhile, the first period begins at that end, and ends at the first boundary of this calendar that is
   * at least half a period away: no instant is in two periods or in none, and no change of a time zone gives two
   * allowances for one period.
   */
  after(endedMs: number, instantMs: number): Period {
    const own = this.at(endedMs)
    if (own.startMs === endedMs) return this.at(instantMs)
    const leastMs = endedMs + HALF_MS[this.#unit]
    const endMs = own.endMs >= leastMs ? own.endMs : this.at(own.endMs).endMs
    return instantMs < endMs ? { startMs: endedMs, endMs } : this.at(instantMs)
  }

  #boundary(n: number): number {
    return this.#clock.instantOf(this.#localBoundary(n))
  }

  #localBoundary(n: number): number {
    const { month, day, weekday } = this.#anchor
    if (this.#unit === 'day') return n * DAY_MS
    if (this.#unit === 'week') return (MONDAY + weekday + 7 * n) * DAY_MS
    return this.#unit === 'month' ? dayOf(Math.floor(n / 12), n - 12 * Math.floor(n / 12), day) : dayOf(n, month, day)
  }

  /** Returns the last boundary that the wall clock has reached. */
  #numberOf(localMs: number): number {
    const date = new Date(localMs)
    const year = date.getUTCFullYear()
    const guess = {
      day: Math.floor(localMs / DAY_MS),
      week: Math.floor(localMs / (7 * DAY_MS)),
      month: year * 12 + date.getUTCMonth(),
      year,
    }[this.#unit]
    for (let n = guess; ; n--) if (this.#localBoundary(n) <= localMs) return n
  }
}

/** Returns a day of a month, or its last one where it has fewer. */
function dayOf(year: number, month: number, day: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(day, last))
}
