// Times in the zone of the viewer, unless another is named. UTC is for the title next to them.

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const MINUTE = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const FULL_PARTS = { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' } as const
const FULL = new Intl.DateTimeFormat(undefined, FULL_PARTS)
const ZONED = { ...FULL_PARTS, timeZoneName: 'short' } as const
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' })

const SPANS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const

const WEEK_MS = 7 * 86_400_000

export const clockTime = (ms: number): string => CLOCK.format(ms)
export const clockMinute = (ms: number): string => MINUTE.format(ms)
export const fullTime = (ms: number): string => FULL.format(ms)
export const dayText = (ms: number): string => DAY.format(ms)
export const utcText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** zonedTime is a time in another zone, which it names. A zone that the browser does not know is that of the viewer. */
export function zonedTime(ms: number, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat(undefined, { ...ZONED, timeZone }).format(ms)
  } catch {
    return fullTime(ms)
  }
}

/** relativeTime says how long ago or until; what is farther than a week is a date, in the zone of the viewer or in `timeZone`. */
export function relativeTime(ms: number, timeZone?: string, nowMs = Date.now()): string {
  const away = ms - nowMs
  if (Math.abs(away) > WEEK_MS) return timeZone === undefined ? fullTime(ms) : zonedTime(ms, timeZone)
  const [size, unit] = SPANS.find(([span]) => Math.abs(away) >= span) ?? [1_000, 'second']
  return RELATIVE.format(Math.trunc(away / size), unit)
}
