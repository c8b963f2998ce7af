/** What a client may do in a burst, and how much of that is refilled each second. */
export interface BudgetRate {
  readonly burst: number
  readonly perSecond: number
}

/** The remaining part of a BudgetRate. It is refilled by time, and by what the client was served. */
export class RateBudget {
  readonly #rate: BudgetRate
  #left: number
  #atMs: number
  #served: number

  /** `served` counts what was done for the client before. */
  constructor(rate: BudgetRate, nowMs: number, served = 0) {
    this.#rate = rate
    this.#left = rate.burst
    this.#atMs = nowMs
    this.#served = served
  }

  /** Takes one, or more, and says whether it was there. `served` counts what has been done for the client in all. */
  spend(nowMs: number, served: number, amount = 1): boolean {
    this.#left = this.#earned(nowMs, served)
    this.#atMs = nowMs
    this.#served = served
    if (this.#left < amount) return false
    this.#left -= amount
    return true
  }

  /** Returns whether it is as good as a new one. */
  isFull(nowMs: number, served: number): boolean {
    return this.#earned(nowMs, served) >= this.#rate.burst
  }

  #earned(nowMs: number, served: number): number {
    const { burst, perSecond } = this.#rate
    return Math.min(burst, this.#left + ((nowMs - this.#atMs) / 1_000) * perSecond + served - this.#served)
  }
}
