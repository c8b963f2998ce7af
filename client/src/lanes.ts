import { Accepts } from './accepts.ts'
import { Lane } from './lane.ts'

/** A PacedLane is a Lane that also knows how much its server accepted of late. */
export class PacedLane extends Lane {
  readonly accepts = new Accepts()
}

const MAX_LANES = 1_000

/** Lanes finds where calls wait, by name. What was not used for longest is forgotten when there are many, but for lanes in use. */
export class Lanes {
  readonly #lanes = new Map<string, PacedLane>()
  readonly #maxWaiting: number

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting
  }

  get waiting(): number {
    let waiting = 0
    for (const lane of this.#lanes.values()) waiting += lane.waiting
    return waiting
  }

  of(name: string): PacedLane {
    const known = this.#lanes.get(name)
    const lane = known ?? new PacedLane(this.#maxWaiting)
    if (known === undefined && this.#lanes.size >= MAX_LANES) this.#forget()
    this.#lanes.delete(name)
    this.#lanes.set(name, lane)
    return lane
  }

  #forget(): void {
    for (const [name, lane] of this.#lanes) {
      if (lane.isIdle) return void this.#lanes.delete(name)
    }
  }
}
