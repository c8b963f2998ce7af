import type { CountRange, LimitTraffic } from '../api/change.ts'

/** A LimitPlace is a limit by its name. */
export type LimitPlace = Pick<LimitTraffic, 'domain' | 'ruleId'>

type Counts = Readonly<Record<'allowed' | 'refused', number>>

interface Sum extends LimitPlace {
  requests: number | undefined
  refused: number | undefined
  refusedAfter: CountRange | undefined
  why: string | undefined
}

/** How many limits are shown, the ones with the most requests first. */
export const MAX_LIMITS = 20
const UNCOUNTED = 'The limit is new: what it would have refused was not counted.'

/**
 * LimitSums adds up, by limit, what callers did and would have been refused. What is not known of one, is not known of
 * the sum.
 */
export class LimitSums {
  readonly #sums = new Map<string, Sum>()

  add(place: LimitPlace, { allowed, refused }: Counts, after: CountRange | undefined, why: string | undefined): void {
    const sum = this.#of(place, { requests: 0, refused: 0, refusedAfter: { atLeast: 0, atMost: 0 }, why: undefined })
    sum.requests = sum.requests === undefined ? undefined : sum.requests + allowed + refused
    sum.refused = sum.refused === undefined ? undefined : sum.refused + refused
    sum.refusedAfter = both(sum.refusedAfter, after)
    sum.why ??= why
  }

  /** addUncounted adds a limit that did not decide about requests yet. */
  addUncounted(place: LimitPlace): void {
    this.#of(place, { requests: undefined, refused: undefined, refusedAfter: undefined, why: UNCOUNTED })
  }

  listed(): { readonly limits: readonly LimitTraffic[]; readonly limitsLeftOut: number } {
    const all = [...this.#sums.values()].sort((a, b) => (b.requests ?? 0) - (a.requests ?? 0))
    return { limits: all.slice(0, MAX_LIMITS), limitsLeftOut: Math.max(0, all.length - MAX_LIMITS) }
  }

  #of({ domain, ruleId }: LimitPlace, blank: Omit<Sum, keyof LimitPlace>): Sum {
    const name = JSON.stringify([domain, ruleId])
    const known = this.#sums.get(name)
    if (known !== undefined) return known
    const made: Sum = { domain, ruleId, ...blank }
    this.#sums.set(name, made)
    return made
  }
}

function both(a: CountRange | undefined, b: CountRange | undefined): CountRange | undefined {
  if (a === undefined || b === undefined) return undefined
  return { atLeast: a.atLeast + b.atLeast, atMost: a.atMost + b.atMost }
}
