import { got, SluiceError } from './errors.ts'

/** Whole milliseconds, or a text such as `90s`, `1h30m`, `500ms`, `30d`, `1 minute`. */
export type Duration = number | string

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
])

/** What people write for the units, in the singular. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['millisecond', 'ms'],
  ['sec', 's'],
  ['second', 's'],
  ['min', 'm'],
  ['minute', 'm'],
  ['hr', 'h'],
  ['hour', 'h'],
  ['day', 'd'],
  ['week', 'w'],
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
  const part = /(\d+)(?:\.(\d+))?\s*([a-z]+)\s*/y
  let total = 0
  while (part.lastIndex < compact.length) {
    const match = part.exec(compact)
    if (match === null) return undefined
    const [, whole = '', fraction = '', unit = ''] = match
    const unitMs = UNIT_MS.get(unit) ?? UNIT_MS.get(WORDS.get(unit.replace(/s$/, '')) ?? '')
    if (unitMs === undefined) return undefined
    // Multiplied as whole numbers first: 1.005 × 1000 is not 1005 in floating point.
    total += (Number(whole + fraction) * unitMs) / 10 ** fraction.length
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
