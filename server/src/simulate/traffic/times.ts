const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const ZERO = 0x30
const NINE = 0x39
/** A time after this is a mistake: 1 January 2200. */
const LATEST_MS = Date.UTC(2200, 0)
const LENGTH_OF_CLF = 26

/**
 * Reads the times of access logs into milliseconds since 1970; NaN for what is not a time. No regular expression, and
 * no Date for a line that was written in the same second, or on the same day, as the line before.
 */
export class Times {
  #second = ''
  #secondMs = Number.NaN
  #day = ''
  #dayMs = Number.NaN

  /** Reads a time in any of the forms: `10/Oct/2000:13:55:36 -0700`, RFC 3339, seconds, ms, µs or ns since 1970. */
  read(text: string, start: number, end: number): number {
    const third = text.charCodeAt(start + 2)
    const timeMs =
      end - start === LENGTH_OF_CLF && third === SLASH
        ? this.readClf(text, start)
        : text.charCodeAt(start + 4) === DASH
          ? this.readIso(text, start, end)
          : numberMs(text, start, end)
    return timeMs >= 0 && timeMs < LATEST_MS ? timeMs : Number.NaN
  }

  /** Reads the 26 characters of nginx's `time_local`. */
  readClf(text: string, start: number): number {
    if (this.#second !== '' && text.startsWith(this.#second, start)) return this.#secondMs
    const timeMs = clfMs(text, start)
    if (Number.isNaN(timeMs)) return timeMs
    // A copy: a part of a block would keep the whole block.
    this.#second = Buffer.from(text.slice(start, start + LENGTH_OF_CLF), 'latin1').toString('latin1')
    this.#secondMs = timeMs
    return timeMs
  }

  /** Reads `2026-11-20T10:00:00.310Z`, also with a space for the T, with +01:00 for the Z, or without (UTC). */
  readIso(text: string, start: number, end: number): number {
    const dayMs = this.#dayOf(text, start)
    const separator = text.charCodeAt(start + 10)
    if (separator !== 0x54 && separator !== 0x20 && separator !== 0x74) return Number.NaN
    if (text.charCodeAt(start + 13) !== COLON || text.charCodeAt(start + 16) !== COLON) return Number.NaN
    const [hours, minutes, seconds] = [two(text, start + 11), two(text, start + 14), two(text, start + 17)]
    if (!(hours < 24 && minutes < 60 && seconds <= 60)) return Number.NaN
    let at = start + 19
    if (at > end) return Number.NaN
    let ms = 0
    if (text.charCodeAt(at) === DOT || text.charCodeAt(at) === COMMA) {
      const first = ++at
      for (let size = 100; at < end && isDigit(text, at); at++, size /= 10) {
        if (size >= 1) ms += size * (text.charCodeAt(at) - ZERO)
      }
      if (at === first) return Number.NaN
    }
    return dayMs + hours * 3_600_000 + minutes * 60_000 + seconds * 1_000 + ms - zoneMs(text, at, end)
  }

  #dayOf(text: string, start: number): number {
    if (this.#day !== '' && text.startsWith(this.#day, start)) return this.#dayMs
    if (text.charCodeAt(start + 7) !== DASH) return Number.NaN
    const dayMs = dateMs(100 * two(text, start) + two(text, start + 2), two(text, start + 5), two(text, start + 8))
    if (Number.isNaN(dayMs)) return dayMs
    this.#day = Buffer.from(text.slice(start, start + 10), 'latin1').toString('latin1')
    this.#dayMs = dayMs
    return dayMs
  }
}

const SLASH = 0x2f
const DASH = 0x2d
const COLON = 0x3a
const DOT = 0x2e
const COMMA = 0x2c
const PLUS = 0x2b

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= ZERO && code <= NINE
}

/** Reads two digits. NaN: they are none. */
function two(text: string, at: number): number {
  if (!isDigit(text, at) || !isDigit(text, at + 1)) return Number.NaN
  return 10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 11 * ZERO
}

function clfMs(text: string, start: number): number {
  const month = MONTHS.indexOf(text.slice(start + 3, start + 6)) / 3 + 1
  const year = 100 * two(text, start + 7) + two(text, start + 9)
  const [hours, minutes, seconds] = [two(text, start + 12), two(text, start + 15), two(text, start + 18)]
  if (!(Number.isInteger(month) && month >= 1 && hours < 24 && minutes < 60 && seconds <= 60)) return Number.NaN
  const dayMs = dateMs(year, month, two(text, start))
  const zone = zoneMs(text, start + 21, start + LENGTH_OF_CLF)
  return dayMs + hours * 3_600_000 + minutes * 60_000 + seconds * 1_000 - zone
}

function dateMs(year: number, month: number, day: number): number {
  if (!(year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 31)) return Number.NaN
  const dayMs = Date.UTC(year, month - 1, day)
  return new Date(dayMs).getUTCDate() === day ? dayMs : Number.NaN
}

/** Reads `Z`, `+0100`, `+01:00` or nothing, up to the end of the text. */
function zoneMs(text: string, at: number, end: number): number {
  const code = text.charCodeAt(at)
  if (at === end || (at + 1 === end && (code === 0x5a || code === 0x7a))) return 0
  if (code !== PLUS && code !== DASH) return Number.NaN
  const minutesAt = text.charCodeAt(at + 3) === COLON ? at + 4 : at + 3
  if (minutesAt + 2 !== end) return Number.NaN
  const ms = two(text, at + 1) * 3_600_000 + two(text, minutesAt) * 60_000
  return code === DASH ? -ms : ms
}

/** Reads a number by its size: seconds, milliseconds, microseconds or nanoseconds since 1970. */
function numberMs(text: string, start: number, end: number): number {
  if (end <= start || end - start > 24) return Number.NaN
  for (let i = start; i < end; i++) if (!isDigit(text, i) && text.charCodeAt(i) !== DOT) return Number.NaN
  const value = Number(text.slice(start, end))
  // Rounded, because 1700000000.123 × 1000 is not whole in floating point.
  return Math.round(value < 1e11 ? value * 1_000 : value < 1e14 ? value : value < 1e17 ? value / 1e3 : value / 1e6)
}
