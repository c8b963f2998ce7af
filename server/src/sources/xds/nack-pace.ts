const FIRST_MS = 1_000
const MAX_MS = 10_000

/**
 * Determines how long to wait before rules are refused. A control plane sends the same version again immediately after
 * a refusal: refused immediately, it would never end.
 */
export class NackPace {
  #version: string | undefined
  #times = 0

  /** Returns the delay for a refusal. The first of a version is sent immediately, later ones with growing delays. */
  pauseMs(version: string): number {
    this.#times = version === this.#version ? this.#times + 1 : 0
    this.#version = version
    return this.#times === 0 ? 0 : Math.min(FIRST_MS * 2 ** (this.#times - 1), MAX_MS)
  }

  /** Resets the delays when rules are accepted. */
  forget(): void {
    this.#version = undefined
    this.#times = 0
  }
}
