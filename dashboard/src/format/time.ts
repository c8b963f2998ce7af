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

/** durationText shortens a time span: 250 ms, 1.5 s, 12 min, 3 h, 2 d. */
export function durationText(ms: number): string {
  if (ms < 1) return ms === 0 ? '0 ms' : `${Math.max(0.01, Math.round(ms * 100) / 100)} ms`
  if (ms < 1_000) return `${Math.round(ms * 10) / 10} ms`
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`
  if (ms < 3_600_000) return `${Math.round(ms / 6_000) / 10} min`
  if (ms < 86_400_000) return `${Math.round(ms / 360_000) / 10} h`
  return `${Math.round(ms / 8_640_000) / 10} d`
}
