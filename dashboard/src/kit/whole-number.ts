/** wholeNumber reads a count as people type it: 1 000, 1,000, 1'000 or 5k. Undefined: it is none, or below 1. */
export function wholeNumber(typed: string): number | undefined {
  const match = /^(\d+)([km])?$/i.exec(typed.replace(/[\s,'_]/g, ''))
  if (match === null) return undefined
  const size = { k: 1_000, m: 1_000_000 }[match[2]?.toLowerCase() ?? ''] ?? 1
  const value = Number(match[1]) * size
  return value >= 1 && Number.isSafeInteger(value) ? value : undefined
}
