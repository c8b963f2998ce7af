/** The largest limit, cost and count: 32 bits. */
export const MAX_COUNT = 4_294_967_295

/** What a cost above MAX_COUNT is taken for where it is not an error: more than any limit admits. */
export const TOO_MUCH = 2 ** 33

/** The part of a limit that the algorithms compute with. */
export interface LimitNumbers {
  readonly max: number
  /** The window; for `concurrency` the time after which a permit expires; with a calendar the longest window. */
  readonly windowMs: number
  /** The largest cost that can ever be admitted: the burst of a bucket, the limit of everything else. */
  readonly capacity: number
  /** Buckets: budget grows by unitsPerMs each millisecond, and a hit takes unitsPerHit. Whole numbers. */
  readonly unitsPerMs: number
  readonly unitsPerHit: number
  /** Buckets: capacity × unitsPerHit, a full bucket. */
  readonly fullUnits: number
  /** Logs: hits are recorded at the end of their quantum; 1 is exact to the millisecond. */
  readonly quantumMs: number
  /** Fixed windows: where windows begin and end, if the calendar says so. */
  readonly calendar: CalendarWindows | undefined
  /** Fixed windows: a caller's window begins with its first hit. */
  readonly isAnchored: boolean
  readonly countDenied: boolean
  /**
   * How much of a refused cost is charged, where it is: no counter of hits goes beyond this. Buckets go one bucket into
   * debt.
   */
  readonly maxUsed: number
}

/** Returns the cost that has to fit: a look, which costs 0, asks whether the next hit does. */
export function askedBy(cost: number): number {
  return cost === 0 ? 1 : cost
}

/** Returns how much of a refused cost is charged to a counter that has used so much. */
export function chargedOf(cost: number, used: number, { maxUsed }: LimitNumbers): number {
  return Math.max(0, Math.min(cost, maxUsed - used))
}

/** Finds the window [startMs, endMs) that a time falls into. */
export interface CalendarWindows {
  windowAt(nowMs: number): { readonly startMs: number; readonly endMs: number }
}
