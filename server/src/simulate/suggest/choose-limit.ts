import type { Peaks } from './caller-peaks.ts'

/** How limits are derived of what callers did. */
export interface ChoiceOptions {
  /** The share of the callers whose busiest time fits, in percent. */
  readonly percentile: number
  /** How much more than that is allowed, as a factor: 1.5. */
  readonly headRoom: number
  /** How long the traffic lasted. */
  readonly spanMs: number
}

/** A limit that was chosen, and why. */
export interface ChosenLimit {
  readonly unit: 'minute' | 'hour'
  readonly requestsPerUnit: number
  readonly algorithm: 'sliding_window' | 'token_bucket'
  /** Of a token bucket. */
  readonly burst: number | undefined
  /** The busiest minute and hour of the callers at the percentile. */
  readonly minute: number
  readonly hour: number
}

/** Traffic whose busiest minute is so many times the average of its busiest hour comes in bursts. */
const BURSTY = 3
/** A smaller limit by the minute says little: one by the hour is chosen. */
const LEAST_BY_MINUTE = 5
const HOUR_MS = 3_600_000

/** Chooses the algorithm and the numbers for a group of callers. */
export function chooseLimit(callers: readonly Peaks[], { percentile, headRoom, spanMs }: ChoiceOptions): ChosenLimit {
  const at = (of: (peaks: Peaks) => number): number => percentileOf(callers.map(of), percentile)
  const minute = at((peaks) => peaks.minute)
  const hour = at((peaks) => peaks.hour)
  const peaks = { minute: Math.ceil(minute), hour: Math.ceil(hour) }
  const window = { algorithm: 'sliding_window', burst: undefined, ...peaks } as const
  // Traffic of less than an hour says nothing about hours.
  if (minute * headRoom < LEAST_BY_MINUTE && spanMs >= HOUR_MS) {
    return { unit: 'hour', requestsPerUnit: rounded(hour * headRoom), ...window }
  }
  // The average of the busiest hour, of traffic that may not have lasted one.
  const average = hour / Math.min(60, Math.max(1, spanMs / 60_000))
  if (minute < BURSTY * average) return { unit: 'minute', requestsPerUnit: rounded(minute * headRoom), ...window }
  const requestsPerUnit = rounded(average * headRoom)
  // The bucket holds what the busiest minute, or ten of them, need beyond what is refilled meanwhile.
  const tenMinutes = at((peaks) => peaks.tenMinutes) * headRoom - 10 * requestsPerUnit
  const burst = rounded(Math.max(minute * headRoom, tenMinutes))
  return { unit: 'minute', requestsPerUnit, algorithm: 'token_bucket', burst, ...peaks }
}

/** Returns the value that this share of all does not exceed. */
export function percentileOf(values: readonly number[], percentile: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.max(0, Math.ceil((percentile / 100) * sorted.length) - 1)] ?? 0
}

const STEPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]

/** Rounds up to a number that people would write: 7 to 8, 41 to 50, 130 to 150. */
export function rounded(value: number): number {
  if (value <= 10) return Math.max(1, Math.ceil(value))
  const size = 10 ** Math.floor(Math.log10(value))
  const step = STEPS.find((each) => Math.round(each * size) >= value) ?? 10
  return Math.round(step * size)
}
