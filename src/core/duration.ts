import { got, SluiceError } from './errors.ts'

/** Whole milliseconds, or a text such as `90s`, `1h30m`, `500ms`, `30d`. */
export type Duration = number | string

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
])

/** Returns whole milliseconds. `where` names the option in the error. */
export function parseDuration(value: unknown, where: string): number {
  const ms = typeof value === 'string' ? parseText(value) : value
  if (typeof ms !== 'number' || !Number.isSafeInteger(ms) || ms < 0) {
    throw new SluiceError('DURATION_INVALID', where, got(value))
  }
  return ms
}

function parseText(text: string): number | undefined {
  const compact = text.trim().toLowerCase()
  if (compact.length === 0 || compact.length > 64) return undefined
  const part = /(\d+)(?:\.(\d+))?\s*(ms|s|m|h|d|w)\s*/y
  let total = 0
  while (part.lastIndex < compact.length) {
    const match = part.exec(compact)
    if (match === null) return undefined
    const [, whole = '', fraction = '', unit = ''] = match
    // Multiplied as whole numbers first: 1.005 × 1000 is not 1005 in floating point.
    total += (Number(whole + fraction) * (UNIT_MS.get(unit) as number)) / 10 ** fraction.length
  }
  return total
}

/** Formats milliseconds in the fewest whole units: 60000 → `1m`, 5400000 → `90m`, 1500 → `1500ms`. */
export function formatDuration(ms: number): string {
  for (const unit of ['w', 'd', 'h', 'm', 's']) {
    const size = UNIT_MS.get(unit) as number
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`
  }
  return `${ms}ms`
}
