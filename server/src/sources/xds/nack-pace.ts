const FIRST_MS = 1_000
const MAX_MS = 10_000

/**
 * NackPace says how long to wait before rules are refused. A control plane that is told of a refusal sends the same version
 * again at once: refused at once, it would never end.
 */
export class NackPace {
  #version: string | undefined
  #times = 0

  /** pauseMs is told of each refusal. The first of a version is sent at once, others later and later. */
  pauseMs(version: string): number {
    this.#times = version === this.#version ? this.#times + 1 : 0
    this.#version = version
    return this.#times === 0 ? 0 : Math.min(FIRST_MS * 2 ** (this.#times - 1), MAX_MS)
  }

  /** forget is told when rules are accepted. */
  forget(): void {
    this.#version = undefined
    this.#times = 0
  }
}
