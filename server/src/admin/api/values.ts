import { got, SluiceError } from 'sluice/internal/core/errors'

/** timeOf reads a time; undefined stays undefined, and so does null. */
export function timeOf(text: string | null | undefined, where: string): number | undefined {
  if (text === null || text === undefined) return undefined
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw invalid(where, `there is no such time: ${got(text)}`)
  return ms
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

export function timeOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : timeText(ms)
}

/** spanOf reads when something is in force. */
export function spanOf(
  { effective_at, expires_at }: { effective_at?: string | null | undefined; expires_at?: string | null | undefined },
  nowMs: number,
) {
  const effectiveAtMs = timeOf(effective_at, 'body.effective_at') ?? nowMs
  const expiresAtMs = timeOf(expires_at, 'body.expires_at')
  if (expiresAtMs !== undefined && expiresAtMs <= effectiveAtMs) {
    throw invalid('body.expires_at', 'it would end before it begins')
  }
  return { effectiveAtMs, expiresAtMs }
}

/** checkedTimeZone throws for what the system has no time zone of. */
export function checkedTimeZone(name: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
  } catch {
    throw invalid('body.time_zone', `there is no such time zone: ${got(name)}`)
  }
  return name
}

/** checkedDay throws for what the calendar does not have. */
export function checkedDay(text: string | null | undefined): string | undefined {
  if (text === null || text === undefined) return undefined
  const date = new Date(`${text}T00:00:00Z`)
  if (Number.isNaN(date.getTime()) || !date.toISOString().startsWith(text)) {
    throw invalid('body.period_anchor', `there is no such day: ${got(text)}`)
  }
  return text
}

export function invalid(where: string, detail: string): SluiceError {
  return new SluiceError('ADMIN_REQUEST_INVALID', where, detail)
}

export function unknownRecord(what: string, id: string): SluiceError {
  return new SluiceError('RECORD_UNKNOWN', what, got(id))
}

/** Returns null for what is not there, as JSON has it. */
export function orNull<T>(value: T | undefined): T | null {
  return value ?? null
}
