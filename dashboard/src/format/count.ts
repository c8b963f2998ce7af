const units = [
  { size: 1e9, suffix: 'G' },
  { size: 1e6, suffix: 'M' },
  { size: 1e3, suffix: 'k' },
]

/**
 * formatCount writes a count in at most five characters up to a thousand G: 950, 1.2k, 34.5M. It rounds down, so that
 * a usage below a limit never reads as the limit.
 */
export function formatCount(count: number): string {
  const unit = units.find(({ size }) => count >= size)
  if (unit === undefined) return String(Math.floor(count))
  const tenths = Math.floor(count / (unit.size / 10))
  return `${tenths / 10}${unit.suffix}`
}

/** Making a formatter takes far longer than using it, and a page shows hundreds of counts every few seconds. */
const WHOLE = new Intl.NumberFormat()

/** wholeCount writes a count in full, as the viewer's language does. */
export const wholeCount = (count: number): string => WHOLE.format(count)
