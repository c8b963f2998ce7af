// Times in the zone of the viewer. UTC is for the title beside them.

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const MINUTE = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const FULL = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})
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

/** relativeTime says how long ago or until; what is farther than a week is a date. */
export function relativeTime(ms: number, nowMs = Date.now()): string {
  const away = ms - nowMs
  if (Math.abs(away) > WEEK_MS) return fullTime(ms)
  const [size, unit] = SPANS.find(([span]) => Math.abs(away) >= span) ?? [1_000, 'second']
  return RELATIVE.format(Math.trunc(away / size), unit)
}
