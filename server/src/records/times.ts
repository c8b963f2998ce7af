import { got, SluiceError } from 'sluice/internal/core/errors'

/** Reads a time as callers write it, in milliseconds. */
export function readTime(text: string, where: string): number {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw new SluiceError('ADMIN_REQUEST_INVALID', where, `there is no such time: ${got(text)}`)
  return ms
}

/** Formats a time as it is answered. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
