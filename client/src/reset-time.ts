const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}
/** Below these, a number is no date: 2001 in seconds, and 1973 in milliseconds. */
const UNIX_S = 1e9
const UNIX_MS = 1e11
/** The longest time that timers support, 24 days; they fire immediately beyond it. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1

/** Nothing that is counted is more. */
export const MOST: number = 1e15

/** One without a sign, whole or not. */
export const NUMBER: RegExp = /^\d+(\.\d+)?$/

/**
 * Reads a time to come in every way that APIs write it: seconds from now, unix seconds or milliseconds, a duration such
 * as `6m0s`, or a date, by the server's clock. It returns undefined for what it cannot read, and never less than 0.
 * `unitMs` is what a small number counts.
 */
export function msUntil(text: string | null, atMs: number, unitMs = 1_000): number | undefined {
  if (text === null || text.length > 100) return undefined
  const value = Number(text)
  let ms = value * unitMs
  if (!NUMBER.test(text)) ms = durationMs(text) ?? Date.parse(dated(text)) - atMs
  else if (value >= UNIX_MS) ms = value - atMs
  else if (value >= UNIX_S) ms = value * 1_000 - atMs
  return ms <= MOST ? Math.min(Math.max(0, Math.ceil(ms)), LONGEST_TIMER_MS) : undefined
}

/** Reads a duration as Go prints it. */
function durationMs(text: string): number | undefined {
  let sum: number | undefined
  const rest = text.replace(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g, (_, value: string, unit: string) => {
    sum = (sum ?? 0) + Number(value) * UNIT_MS[unit]
    return ''
  })
  return rest === '' ? sum : undefined
}

/**
 * Returns the text where it may be a date. Without a letter or a colon it is a broken number, which Date.parse takes
 * for a year.
 */
const dated = (text: string): string => (/^(?!-)(?=.*\d).*[A-Za-z:]/.test(text) ? text : '')
