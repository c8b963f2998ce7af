const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
}

/** Returns milliseconds, or NaN for what is not one to eight digits and a unit. */
export function parseGrpcTimeout(text: string): number {
  const digits = text.length - 1
  if (digits < 1 || digits > 8) return Number.NaN
  let value = 0
  for (let i = 0; i < digits; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value * (UNIT_MS[text[digits]] ?? Number.NaN)
}
