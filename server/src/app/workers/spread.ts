/** Something that connections can be given to. */
export interface Taker {
  /** How many it has. */
  readonly open: number
}

/**
 * Picks the worker for the next connection: the one with the fewest, and among several the one that has waited longest
 * for one (takers come in that order).
 */
export function leastBusy<T extends Taker>(takers: readonly T[]): T | undefined {
  let best: T | undefined
  for (const taker of takers) if (best === undefined || taker.open < best.open) best = taker
  return best
}

/** Returns for each taker how many connections it has above its share. */
export function surplus<T extends Taker>(takers: readonly T[]): { readonly taker: T; readonly count: number }[] {
  const total = takers.reduce((sum, { open }) => sum + open, 0)
  const share = Math.ceil(total / takers.length)
  return takers.filter(({ open }) => open > share).map((taker) => ({ taker, count: taker.open - share }))
}
