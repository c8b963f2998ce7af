import type { AdaptiveConcurrency } from 'sluice/internal/core/shedding/adaptive-concurrency'

/** PlaceKeeper is what a place needs of whom it is taken from. */
export interface PlaceKeeper {
  readonly adaptive: AdaptiveConcurrency
  nowMs(): number
  sent(place: Place): number
  ended(place: Place): void
}

/** A Place is what a request takes of an address: from before it is sent until the head of the answer is there. */
export class Place {
  readonly #keeper: PlaceKeeper
  readonly takenMs: number
  #sentMs: number | undefined
  #isHeld = true
  #isOver = false

  constructor(keeper: PlaceKeeper, takenMs: number) {
    this.#keeper = keeper
    this.takenMs = takenMs
  }

  /** sent says that the request is out, to its last byte. Its time begins. */
  sent(): void {
    if (this.#sentMs !== undefined || this.#isOver) return
    this.#sentMs = this.#keeper.sent(this)
    if (!this.#isHeld) this.#keeper.adaptive.add()
    this.#isHeld = true
  }

  /** takeBack has others use the place of a request whose body is slow to come. Once it is sent, it counts again. */
  takeBack(nowMs: number): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#keeper.adaptive.end(nowMs, undefined)
  }

  /** answered gives the place back, and tells how long the answer took. */
  answered(): void {
    this.#end((tookMs) => tookMs)
  }

  /** left gives it back without an answer. A request that was given up late was slow all the same. */
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
