import type { AdaptiveConcurrency } from 'sluice/internal/core/shedding/adaptive-concurrency'

/** What a slot needs of the pool that it is taken from. */
export interface SlotKeeper {
  readonly adaptive: AdaptiveConcurrency
  nowMs(): number
  sent(place: UpstreamSlot): number
  ended(place: UpstreamSlot): void
}

/**
 * One unit of an address's concurrency: held from before a request is sent until the head of the answer has arrived.
 */
export class UpstreamSlot {
  readonly #keeper: SlotKeeper
  readonly takenMs: number
  #sentMs: number | undefined
  #isHeld = true
  #isOver = false

  constructor(keeper: SlotKeeper, takenMs: number) {
    this.#keeper = keeper
    this.takenMs = takenMs
  }

  /** Says that the request is out, to its last byte. Its time begins. */
  sent(): void {
    if (this.#sentMs !== undefined || this.#isOver) return
    this.#sentMs = this.#keeper.sent(this)
    if (!this.#isHeld) this.#keeper.adaptive.add()
    this.#isHeld = true
  }

  /** Has others use the place of a request whose body is slow to come. Once it is sent, it counts again. */
  takeBack(nowMs: number): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#keeper.adaptive.end(nowMs, undefined)
  }

  /** Gives the slot back, and records how long the answer took. */
  answered(): void {
    this.#end((tookMs) => tookMs)
  }

  /** Gives it back without an answer. A request that was given up late was slow all the same. */
  left(): void {
    this.#end((tookMs) => (tookMs > this.#keeper.adaptive.usualMs ? tookMs : undefined))
  }

  #end(timeOf: (tookMs: number) => number | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    const nowMs = this.#keeper.nowMs()
    const tookMs = this.#sentMs === undefined ? undefined : timeOf(nowMs - this.#sentMs)
    if (this.#isHeld) this.#keeper.adaptive.end(nowMs, tookMs)
    this.#keeper.ended(this)
  }
}
