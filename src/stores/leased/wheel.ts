import type { Slice } from './slice.ts'

const SLOTS = 64
export const TICK_MS = 25

/** Brings slices up again when they are due, all on one timer. It is exact to a tick. */
export class Wheel {
  readonly #slots: Slice[][] = Array.from({ length: SLOTS }, () => [])
  #tick: number

  constructor(nowMs: number) {
    this.#tick = Math.floor(nowMs / TICK_MS)
  }

  /** Brings a slice up once, not before its time, and not later than a turn of the wheel. */
  add(slice: Slice, afterMs: number, nowMs: number): void {
    const ticks = Math.min(Math.max(1, Math.ceil(afterMs / TICK_MS)), SLOTS - 1)
    this.#slots[(Math.floor(nowMs / TICK_MS) + ticks) % SLOTS].push(slice)
  }

  /** Yields the slices whose time has come. */
  *due(nowMs: number): Generator<Slice> {
    const tick = Math.floor(nowMs / TICK_MS)
    // After a pause longer than a turn, every slot is due once.
    for (let next = Math.max(this.#tick + 1, tick - SLOTS + 1); next <= tick; next++) {
      const slot = next % SLOTS
      const slices = this.#slots[slot]
      this.#slots[slot] = []
      yield* slices
    }
    this.#tick = Math.max(this.#tick, tick)
  }
}
