import type { Pass } from './gate.ts'

/** A Budget is what a request says of the tightest limit. Dates are made when somebody asks. */
export class Budget {
  readonly #pass: Pass

  constructor(pass: Pass) {
    this.#pass = pass
  }

  get limit(): number {
    return this.#pass.decision.tightest?.verdict.limit ?? 0
  }

  get remaining(): number {
    return this.#pass.decision.tightest?.verdict.remaining ?? 0
  }

  get used(): number {
    return Math.max(0, this.limit - this.remaining)
  }

  get resetTime(): Date {
    return new Date(this.#pass.atMs + (this.#pass.decision.tightest?.verdict.resetAfterMs ?? 0))
  }

  get decision(): Pass['decision'] {
    return this.#pass.decision
  }
}
