import type { HeldPermits } from './ports.ts'

/** Permits are looked at six times per lease and renewed at every second look, so that some renewals may fail. */
const TURNS = 6
const TURNS_TO_RENEW = 2
/** Turns shorter than this would keep the process busy, and longer ones do not fit into a timer. */
const MIN_TURN_MS = 10
const MAX_TURN_MS = 86_400_000

/**
 * A list of permits with the same lease, in which each is due when a third of its lease has passed, and then at every
 * third. Most are released before: adding a permit to the list and removing it allocates nothing and reads no clock.
 * Permits know their position in the list, which is reused after them.
 */
export class RenewalLane {
  readonly turnMs: number
  /** When the next turn is. */
  nextMs: number
  /** Whether what was due is still being renewed. */
  isBusy = false
  readonly #permits: (HeldPermits | undefined)[] = []
  /** Who gives them back. Once they were due, a WeakRef: when nothing can give them back any more, they are let go. */
  readonly #holders: (object | undefined)[] = []
  readonly #dueAt: number[] = []
  readonly #free: number[] = []
  #turns = 0

  constructor(ttlMs: number, nowMs: number) {
    this.turnMs = Math.min(Math.max(ttlMs / TURNS, MIN_TURN_MS), MAX_TURN_MS)
    this.nextMs = nowMs + this.turnMs
  }

  get isEmpty(): boolean {
    return this.#free.length === this.#permits.length
  }

  add(permits: HeldPermits, holder: object): void {
    const at = this.#free.pop() ?? this.#permits.length
    this.#permits[at] = permits
    this.#holders[at] = holder
    // The turn that is has begun some time ago.
    this.#dueAt[at] = this.#turns + TURNS_TO_RENEW + 1
    permits.keptAt = at
  }

  has(permits: HeldPermits): boolean {
    return permits.keptAt !== undefined && this.#permits[permits.keptAt] === permits
  }

  delete(permits: HeldPermits): void {
    if (permits.keptAt !== undefined && this.has(permits)) this.#vacate(permits.keptAt)
  }

  /** Returns what is due. It stays due until it was renewed. */
  turn(nowMs: number): readonly HeldPermits[] {
    this.nextMs = nowMs + this.turnMs
    this.#turns++
    const due: HeldPermits[] = []
    for (let at = 0; at < this.#permits.length; at++) {
      const permits = this.#permits[at]
      if (permits === undefined || this.#dueAt[at] > this.#turns) continue
      const holder = this.#holders[at]
      if (!(holder instanceof WeakRef)) this.#holders[at] = new WeakRef(holder as object)
      if (holder instanceof WeakRef && holder.deref() === undefined) this.#vacate(at)
      else due.push(permits)
    }
    return due
  }

  /** Says that permits were renewed, in the turn that is. */
  renewed(permits: HeldPermits): void {
    if (permits.keptAt !== undefined && this.has(permits)) this.#dueAt[permits.keptAt] = this.#turns + TURNS_TO_RENEW
  }

  #vacate(at: number): void {
    this.#permits[at] = undefined
    this.#holders[at] = undefined
    this.#free.push(at)
  }
}
