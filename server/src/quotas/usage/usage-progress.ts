/** UsageProgress is until when every process of a node has told what it counted. */
export class UsageProgress {
  readonly #untilMs = new Map<object, number>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** began is told of a process before it counts anything. */
  began(process: object): void {
    this.#untilMs.set(process, this.#nowMs())
  }

  told(process: object, untilMs: number): void {
    if (this.#untilMs.has(process)) this.#untilMs.set(process, untilMs)
  }

  /** ended is told when no more comes of a process. What it had not told is lost. */
  ended(process: object): void {
    this.#untilMs.delete(process)
  }

  /** Everything that was counted before was told. */
  get untilMs(): number {
    return Math.min(this.#nowMs(), ...this.#untilMs.values())
  }
}
