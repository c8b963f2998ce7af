/** What is counted of requests, for a rule, a caller or a span of time. */
export interface Counts {
  requests: number
  refused: number
  /** Requests that a rule in shadow mode would have refused. */
  shadow: number
  /** Against other rules: requests that are refused now and were allowed then. */
  lost: number
  /** The other way round. */
  gained: number
}

export function noCounts(): Counts {
  return { requests: 0, refused: 0, shadow: 0, lost: 0, gained: 0 }
}

export function addCounts(to: Counts, from: Counts): void {
  to.requests += from.requests
  to.refused += from.refused
  to.shadow += from.shadow
  to.lost += from.lost
  to.gained += from.gained
}

/** What became of one request. */
export interface Outcome {
  readonly isRefused: boolean
  readonly isShadow: boolean
  /** Undefined without other rules. */
  readonly wasRefused: boolean | undefined
}

export function count(counts: Counts, { isRefused, isShadow, wasRefused }: Outcome): void {
  counts.requests++
  if (isRefused) counts.refused++
  if (isShadow) counts.shadow++
  if (wasRefused === undefined || wasRefused === isRefused) return
  if (isRefused) counts.lost++
  else counts.gained++
}
