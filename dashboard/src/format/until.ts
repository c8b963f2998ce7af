// When something ends: what a form offers, and the time that it comes to.

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export type Until = 'never' | 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year' | 'time'

export const UNTIL_TEXTS: Readonly<Record<Until, string>> = {
  never: 'Without end',
  hour: 'For an hour',
  day: 'For 24 hours',
  week: 'For 7 days',
  month: 'For 30 days',
  quarter: 'For 90 days',
  year: 'For a year',
  time: 'Until a time',
}

const SPANS: Readonly<Partial<Record<Until, number>>> = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  quarter: 90 * DAY_MS,
  year: 365 * DAY_MS,
}

/** untilTime returns the end as the API takes it: null is without end, undefined is a time that is missing, wrong or over. */
export function untilTime(until: Until, typed: string, nowMs = Date.now()): string | null | undefined {
  if (until === 'never') return null
  const span = SPANS[until]
  if (span !== undefined) return new Date(nowMs + span).toISOString()
  const ms = Date.parse(typed)
  return ms > nowMs ? new Date(ms).toISOString() : undefined
}

/** localInput spells a time for an input of the type datetime-local, in the zone of the viewer. */
export function localInput(ms: number): string {
  const at = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000)
  return at.toISOString().slice(0, 16)
}
