/** A Moment is the client's clock and the server's, as far as it is known: dates of the server are read by its own. */
export interface Moment {
  readonly nowMs: number
  readonly serverNowMs: number
}

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
/** Nobody waits for longer, and timers end at once. */
const MAX_MS = 2 ** 31 - 1

/** momentOf reads the server's clock from its `Date`, which is the client's where there is none. */
export function momentOf(date: string | null, nowMs: number): Moment {
  const serverNowMs = date === null ? Number.NaN : Date.parse(date)
  return { nowMs, serverNowMs: Number.isNaN(serverNowMs) ? nowMs : serverNowMs }
}

/**
 * msUntil reads a time to come in every way that APIs write it: seconds from now, unix seconds or milliseconds, a duration such as
 * `6m0s`, or a date. It returns undefined for what it cannot read, and never less than 0. `unitMs` is what a small number counts.
 */
export function msUntil(text: string, { serverNowMs }: Moment, unitMs = 1_000): number | undefined {
  const ms = /^\d+(\.\d+)?$/.test(text)
    ? fromNumber(Number(text), serverNowMs, unitMs)
    : (durationMs(text) ?? untilDate(text, serverNowMs))
  return ms === undefined || !(ms <= Number.MAX_SAFE_INTEGER) ? undefined : Math.min(Math.max(0, Math.ceil(ms)), MAX_MS)
}

function fromNumber(value: number, serverNowMs: number, unitMs: number): number {
  if (value >= UNIX_MS) return value - serverNowMs
  return value >= UNIX_S ? value * 1_000 - serverNowMs : value * unitMs
}

/** durationMs reads a duration as Go prints it. */
function durationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text) || text.length > 64) return undefined
  let sum = 0
  for (const [, value, , unit] of text.matchAll(/(\d+(\.\d+)?)(ns|us|µs|ms|s|m|h)/g))
    sum += Number(value) * UNIT_MS[unit]
  return sum
}

function untilDate(text: string, serverNowMs: number): number | undefined {
  // Without a letter or a colon it is a broken number, which Date.parse would take for a year.
  if (text.length > 100 || !/^(?=.*\d)(?=.*[A-Za-z:])/.test(text) || text.startsWith('-')) return undefined
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : atMs - serverNowMs
}
