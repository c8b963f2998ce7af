import { type Decision, UNLIMITED } from '../core/combine.ts'
import { Pass } from './gate.ts'

/** What a request shows of the tightest limit: infinite where none applied. Dates are created on access. */
export class Budget {
  readonly #pass: Pass

  constructor(pass: Pass) {
    this.#pass = pass
  }

  get limit(): number {
    return this.#pass.decision.tightest?.verdict.limit ?? Number.POSITIVE_INFINITY
  }

  get remaining(): number {
    return this.#pass.decision.tightest?.verdict.remaining ?? Number.POSITIVE_INFINITY
  }

  get used(): number {
    return this.#pass.decision.tightest === undefined ? 0 : Math.max(0, this.limit - this.remaining)
  }

  get resetTime(): Date {
    const { tightest } = this.#pass.decision
    return new Date(tightest === undefined ? Date.now() : this.#pass.atMs + tightest.verdict.resetAfterMs)
  }

  /**
   * Takes what the request has cost in the end, where `cost` was an estimate: the total, not what is missing. It may be
   * called again when more is known; the budget shown here stays that of the decision.
   */
  settle(cost: number): Promise<Decision | undefined> {
    return this.#pass.settle(cost)
  }

  get decision(): Pass['decision'] {
    return this.#pass.decision
  }
}

/** Returns the budget of requests that nothing limits. */
export const NO_LIMIT = new Budget(new Pass(UNLIMITED))

/** Returns what a request is to say: where no limit applied, what it says already. */
export function budgetOf(pass: Pass, before: unknown): Budget {
  if (pass.decision.tightest !== undefined) return new Budget(pass)
  return before instanceof Budget ? before : NO_LIMIT
}
