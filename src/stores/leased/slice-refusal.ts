import type { SliceReply } from '../../engine/ports.ts'

/** How long a holder waits before it asks again for what others hold. */
const LENT_WAIT_MS = 25

/** What a slice remembers of costs that its lender refused. */
export class SliceRefusal {
  #untilMs = Number.NEGATIVE_INFINITY
  /** The smallest cost that was refused. */
  #cost = 0
  /** An answer to a question asked before then may be a refusal from before the budget was refilled. */
  #clearedAtMs = Number.NEGATIVE_INFINITY
  #retryAtMs = 0

  /** When the cost that was refused last may be admitted. It stays when the refusal is forgotten. */
  get retryAtMs(): number {
    return this.#retryAtMs
  }

  /** Returns whether a cost is known to be refused. */
  covers(cost: number, nowMs: number): boolean {
    return nowMs < this.#untilMs && cost >= this.#cost
  }

  /**
   * Remembers a refusal, for at most maxMs. If the counter itself is used up, nothing changes before it recovers; if
   * the rest is lent, it may be returned at any moment.
   */
  learn(cost: number, askedAtMs: number, { retryAfterMs, lentRetryAfterMs }: SliceReply, maxMs: number): void {
    this.#cost = cost
    this.#retryAtMs = askedAtMs + (retryAfterMs > 0 ? retryAfterMs : lentRetryAfterMs)
    if (askedAtMs <= this.#clearedAtMs) return
    const refusedMs = retryAfterMs > 0 ? retryAfterMs : Math.min(lentRetryAfterMs, LENT_WAIT_MS)
    this.#untilMs = askedAtMs + Math.min(refusedMs, maxMs)
  }

  forget(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY
  }

  /** Forgets a refusal, and one that may be in flight: there may be budget again. */
  clear(nowMs: number): void {
    this.#clearedAtMs = nowMs
    this.forget()
  }
}
