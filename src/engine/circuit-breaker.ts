export type BreakerState = 'closed' | 'open' | 'half_open'

export interface BreakerOptions {
  /** This many failures in a row open it. Default: 3. */
  readonly failures?: number
  /** How long it stays open before it lets a probe through. Default: 1,000 ms. */
  readonly coolDownMs?: number
  readonly onChange?: (state: BreakerState) => void
}

/**
 * Keeps callers away from something that fails. Closed, it lets everything through; after a few failures in a row it
 * opens and lets nothing through; after a while it lets one probe through at a time (half open), whose success closes
 * it and whose failure opens it again. Time is an argument.
 */
export class CircuitBreaker {
  readonly #failuresToOpen: number
  readonly #coolDownMs: number
  readonly #onChange: (state: BreakerState) => void
  #state: BreakerState = 'closed'
  #failures = 0
  #failsSinceMs = 0
  #openedAtMs = 0
  #probing = false

  constructor(options: BreakerOptions = {}) {
    this.#failuresToOpen = options.failures ?? 3
    this.#coolDownMs = options.coolDownMs ?? 1_000
    this.#onChange = options.onChange ?? (() => {})
  }

  get state(): BreakerState {
    return this.#state
  }

  /** Returns whether a call may go through now. A call that may must report how it ended. */
  allows(nowMs: number): boolean {
    if (this.#state === 'closed') return true
    // A clock that went back must not keep it open for longer than it was meant to be.
    const openMs = nowMs - this.#openedAtMs
    if (this.#state === 'open' && openMs < this.#coolDownMs && openMs >= 0) return false
    if (this.#probing) return false
    this.#change('half_open')
    this.#probing = true
    return true
  }

  succeeded(): void {
    this.#failures = 0
    this.#probing = false
    this.#change('closed')
  }

  /** Gives a permission back: the call could not even be made, which says nothing about the other side. */
  notTried(): void {
    this.#probing = false
  }

  /**
   * `overMs`: how far the first of the failures in a row must lie back. What stands still for a moment has not failed.
   */
  failed(nowMs: number, overMs = 0): void {
    this.#probing = false
    if (this.#failures++ === 0) this.#failsSinceMs = nowMs
    if (this.#state !== 'half_open' && !this.#isFailing(nowMs, overMs)) return
    this.#openedAtMs = nowMs
    this.#change('open')
  }

  /** A clock that went back says that time has passed. */
  #isFailing(nowMs: number, overMs: number): boolean {
    const forMs = nowMs - this.#failsSinceMs
    return this.#failures >= this.#failuresToOpen && (forMs >= overMs || forMs < 0)
  }

  #change(state: BreakerState): void {
    if (state === this.#state) return
    this.#state = state
    this.#onChange(state)
  }
}
