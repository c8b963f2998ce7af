import { byWeight, type Weighed } from './by-weight.ts'

/** A connection that can be given up to free memory. Afterwards it holds nothing. */
export interface Holder extends Weighed {
  giveUp(): void
}

/** What is freed in addition when something has to go: each search takes a look at all. */
const ROOM_SHARE = 1 / 16

/** Bounds what is held for all clients together. Past it, those for which the most is held are given up. */
export class HeldBytes {
  readonly #mostBytes: number
  readonly #holders: () => Iterable<Holder>
  #bytes = 0
  #isRelieving = false

  constructor(mostBytes: number, holders: () => Iterable<Holder>) {
    this.#mostBytes = mostBytes
    this.#holders = holders
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Counts what a holder holds more, or less, than before. What holds more calls `relieve` then. */
  add(grownBytes: number): void {
    this.#bytes += grownBytes
  }

  /** Frees memory, if too much is held. */
  relieve(): void {
    if (this.#bytes <= this.#mostBytes || this.#isRelieving) return
    this.#isRelieving = true
    const enoughBytes = this.#mostBytes * (1 - ROOM_SHARE)
    for (const holder of byWeight(this.#holders())) {
      if (this.#bytes <= enoughBytes) break
      holder.giveUp()
    }
    this.#isRelieving = false
  }
}
