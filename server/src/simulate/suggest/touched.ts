import type { Decision } from 'sluice/internal/core/combine'
import { counted } from '../report/text.ts'
import type { SuggestedLimit, SuggestedTier } from './suggestion-yaml.ts'

/** Callers are counted up to this many for each limit. */
const MOST_CALLERS = 100_000

interface TouchedCounts {
  refused: number
  readonly callers: Set<string>
}

/** Counts what the limits of a proposal would have refused, of whom. */
export class Touched {
  /** By tier and name of the limit. */
  readonly #limits = new Map<string, TouchedCounts>()

  add(tier: string, caller: string, { verdicts }: Decision): void {
    for (let i = 0; i < verdicts.length; i++) {
      const { rule, verdict } = verdicts[i]
      if (verdict.allowed) continue
      const key = `${tier}\n${rule.name}`
      const counts = this.#limits.get(key) ?? { refused: 0, callers: new Set<string>() }
      this.#limits.set(key, counts)
      counts.refused++
      if (counts.callers.size < MOST_CALLERS && !counts.callers.has(caller))
        counts.callers.add(Buffer.from(caller).toString())
    }
  }

  /** Adds to the reasons of each limit what it would have refused. */
  explain(tiers: readonly SuggestedTier[]): readonly SuggestedTier[] {
    return tiers.map(({ tier, all, endpoints }) => ({
      tier,
      all: this.#explained(tier, all),
      endpoints: endpoints.map((each) => this.#explained(tier, each)),
    }))
  }

  #explained(tier: string, limit: SuggestedLimit): SuggestedLimit {
    const { refused = 0, callers = new Set() } = this.#limits.get(`${tier}\n${limit.name}`) ?? {}
    const whom = `${callers.size === MOST_CALLERS ? 'at least ' : ''}${counted(callers.size, 'caller')}`
    const text =
      refused === 0
        ? 'It would have refused no one.'
        : `It would have refused ${counted(refused, 'request')}, of ${whom}.`
    return { ...limit, reasons: [...limit.reasons, text] }
  }
}
