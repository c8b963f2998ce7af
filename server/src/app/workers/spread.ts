/** Something that connections can be given to. */
export interface Taker {
  /** How many it has. */
  readonly open: number
}

/**
 * Picks who gets the next connection: whoever has the fewest, and of several the one that had to wait longest for one
 * (takers come in that order).
 */
export function leastBusy<T extends Taker>(takers: readonly T[]): T | undefined {
  let best: T | undefined
  for (const taker of takers) if (best === undefined || taker.open < best.open) best = taker
  return best
}

/** Says of each taker how many it has above its share. */
export function surplus<T extends Taker>(takers: readonly T[]): { readonly taker: T; readonly count: number }[] {
  const total = takers.reduce((sum, { open }) => sum + open, 0)
  const share = Math.ceil(total / takers.length)
  return takers.filter(({ open }) => open > share).map((taker) => ({ taker, count: taker.open - share }))
}
