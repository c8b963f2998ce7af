const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365.25 * DAY

/** The units that people write, by all their names. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ...named(1, 'ms', 'msec', 'msecs', 'millisecond', 'milliseconds'),
  ...named(SECOND, 's', 'sec', 'secs', 'second', 'seconds'),
  ...named(MINUTE, 'm', 'min', 'mins', 'minute', 'minutes'),
  ...named(HOUR, 'h', 'hr', 'hrs', 'hour', 'hours'),
  ...named(DAY, 'd', 'day', 'days'),
  ...named(7 * DAY, 'w', 'wk', 'wks', 'week', 'weeks'),
  ...named(YEAR, 'y', 'yr', 'yrs', 'year', 'years'),
])

function named(ms: number, ...names: readonly string[]): [string, number][] {
  return names.map((name) => [name, ms])
}

/** Reads `1 minute`, `90s`, `1.5 hours` or `1000`, in ms; undefined for anything else. */
export function parseTime(text: string): number | undefined {
  const word = text.trim().toLowerCase()
  const at = word.search(/[a-z]/)
  const digits = (at < 0 ? word : word.slice(0, at)).trim()
  const count = digits === '' ? Number.NaN : Number(digits)
  const unit = at < 0 ? 1 : UNITS.get(word.slice(at))
  return Number.isFinite(count) && unit !== undefined ? count * unit : undefined
}

const UNIT_NAMES = [
  [YEAR, 'year'],
  [DAY, 'day'],
  [HOUR, 'hour'],
  [MINUTE, 'minute'],
  [SECOND, 'second'],
] as const

/** Formats a time in the largest unit that it reaches: `1 second`, `2 minutes`. */
export function formatTime(ms: number): string {
  const found = UNIT_NAMES.find(([unit]) => ms >= unit)
  if (found === undefined) return `${ms} ms`
  const count = Math.round(ms / found[0])
  return `${count} ${found[1]}${count === 1 ? '' : 's'}`
}
