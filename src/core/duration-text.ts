/**
 * From small to large: up to how many milliseconds a unit is used, its size, its name, and how many parts of it are
 * shown.
 */
const UNITS = [
  [1, 0.001, 'µs', 1],
  [10, 1, 'ms', 10],
  [1_000, 1, 'ms', 1],
  [60_000, 1_000, 's', 10],
  [3_600_000, 60_000, 'min', 10],
  [86_400_000, 3_600_000, 'h', 10],
  [Number.POSITIVE_INFINITY, 86_400_000, 'd', 10],
] as const

/**
 * Formats a span of time for people, always in one way: a number, a space and a unit, as in `40 µs`, `1.2 ms`, `317
 * ms`, `42.3 s`, `12 min`, `3 h`, `2 d`. `formatDuration` is for rule files.
 *
 * `round` is `Math.ceil` for what has to be waited for: a wait that reads shorter than it is ends in another refusal.
 */
export function durationText(ms: number, round: (value: number) => number = Math.round): string {
  if (ms <= 0) return '0 ms'
  for (const [below, size, name, parts] of UNITS) {
    // What floating point adds to a product is not rounded up.
    const count = Math.max(1, round(Number(((ms / size) * parts).toFixed(6)))) / parts
    if (count * size < below) return `${count} ${name}`
  }
  return ''
}
