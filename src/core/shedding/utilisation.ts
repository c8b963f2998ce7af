/** What a worker can take: the value of each sign at which it is used to 100 %. */
export interface WorkerBounds {
  /** The mean delay of the event loop. */
  readonly delayMs: number
  /** Requests in flight. Undefined: not considered. */
  readonly inFlight?: number | undefined
  /** The mean time of a request. Undefined: it is no sign. */
  readonly latencyMs?: number | undefined
}

/** What was seen of a worker since the last one. */
export interface WorkerSample {
  readonly delayMs: number
  readonly inFlight: number
  /** The mean time of the requests that ended; 0 where none did. */
  readonly latencyMs: number
}

/**
 * Returns how much of a worker is used, 1 for all of it: the sign that is closest to its bound decides. It may be above
 * 1, and is 0 for what cannot be measured.
 */
export function utilisationOf({ delayMs, inFlight, latencyMs }: WorkerSample, bounds: WorkerBounds): number {
  let used = share(delayMs, bounds.delayMs)
  if (bounds.inFlight !== undefined) used = Math.max(used, share(inFlight, bounds.inFlight))
  if (bounds.latencyMs !== undefined) used = Math.max(used, share(latencyMs, bounds.latencyMs))
  return used
}

function share(value: number, bound: number): number {
  return value > 0 && bound > 0 ? value / bound : 0
}
