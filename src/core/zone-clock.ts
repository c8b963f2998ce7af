import { got, SluiceError } from './errors.ts'

const DAY_MS = 86_400_000

/**
 * A ZoneClock is the wall clock of a time zone. Local times are numbers that read, as if they were UTC, what the
 * clock shows.
 */
export class ZoneClock {
  readonly #format: Intl.DateTimeFormat

  /** Throws CALENDAR_INVALID for what the system has no time zone of. */
  constructor(timeZone: string, where: string) {
    this.#format = zoneFormat(timeZone, where)
  }

  /** Reads the zone's wall clock at an instant, as if that reading were UTC. */
  localMs(instantMs: number): number {
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
  instantOf(localMs: number): number {
    let low = localMs - DAY_MS
    let high = localMs + DAY_MS
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.localMs(middle) >= localMs) high = middle
      else low = middle + 1
    }
    return low
  }
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
