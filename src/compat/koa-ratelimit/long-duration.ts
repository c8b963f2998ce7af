const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const

/** Formats a duration for people, rounded to its largest unit: `2 minutes`, `1 hour`, `250 ms`. */
export function longDuration(ms: number): string {
  const [size, unit] = UNITS.find(([each]) => ms >= each) ?? [1, 'ms']
  const count = Math.round(ms / size)
  return unit === 'ms' ? `${count} ms` : `${count} ${unit}${count === 1 ? '' : 's'}`
}
