/** The time up to which every process of a node has reported what it counted. */
export class UsageProgress {
  readonly #untilMs = new Map<object, number>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** Adds a process, before it counts anything. */
  began(process: object): void {
    this.#untilMs.set(process, this.#nowMs())
  }

  reported(process: object, untilMs: number): void {
    if (this.#untilMs.has(process)) this.#untilMs.set(process, untilMs)
  }

  /** Removes a process that reports no more. What it had not reported is lost. */
  ended(process: object): void {
    this.#untilMs.delete(process)
  }

  /** Everything that was counted before then was reported. */
  get untilMs(): number {
    return Math.min(this.#nowMs(), ...this.#untilMs.values())
  }
}
