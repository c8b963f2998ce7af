import type { HeldPermits } from './ports.ts'

/** Places are looked at six times in their time. They are renewed at every second look, so that some may fail. */
const TURNS = 6
const TURNS_TO_RENEW = 2
/** Turns shorter than this would keep the process busy, and longer ones do not fit into a timer. */
const MIN_TURN_MS = 10
const MAX_TURN_MS = 86_400_000

/** An Aged holds places for longer than most requests take. */
interface Aged {
  /** Whoever gives them back. When nobody can any more, they are let go. */
  readonly holder: WeakRef<object>
  renewedAt: number
}

/**
 * A RenewalLane is a list of permits with the same time, in which each is due when it is a third of that time old, and from then
 * on at every third. Most are gone before: to put one on the list and to take it off allocates nothing and asks for no
 * time. They lie in a map for each of the last turns; what the last of these still has at its turn is old.
 */
export class RenewalLane {
  readonly turnMs: number
  /** When the next turn is. */
  nextMs: number
  /** Whether what was due is still being renewed. */
  isBusy = false
  #young: Map<HeldPermits, object>[] = Array.from({ length: TURNS_TO_RENEW + 1 }, () => new Map())
  readonly #old = new Map<HeldPermits, Aged>()
  #turns = 0

  constructor(ttlMs: number, nowMs: number) {
    this.turnMs = Math.min(Math.max(ttlMs / TURNS, MIN_TURN_MS), MAX_TURN_MS)
    this.nextMs = nowMs + this.turnMs
  }

  get isEmpty(): boolean {
    return this.#old.size === 0 && this.#young.every(({ size }) => size === 0)
  }

  add(permits: HeldPermits, holder: object): void {
    this.#young[0].set(permits, holder)
  }

  delete(permits: HeldPermits): void {
    for (const young of this.#young) if (young.delete(permits)) return
    this.#old.delete(permits)
  }

  /** isOld says whether permits are still to be renewed. */
  isOld(permits: HeldPermits): boolean {
    return this.#old.has(permits)
  }

  /** turn returns what is due. It stays due until it was renewed. */
  turn(nowMs: number): readonly HeldPermits[] {
    this.nextMs = nowMs + this.turnMs
    this.#turns++
    const last = this.#young.pop() ?? new Map<HeldPermits, object>()
    for (const [permits, holder] of last)
      this.#old.set(permits, { holder: new WeakRef(holder), renewedAt: Number.NEGATIVE_INFINITY })
    last.clear()
    this.#young.unshift(last)
    const due: HeldPermits[] = []
    for (const [permits, { holder, renewedAt }] of this.#old) {
      if (holder.deref() === undefined) this.#old.delete(permits)
      else if (this.#turns - renewedAt >= TURNS_TO_RENEW) due.push(permits)
    }
    return due
  }

  /** renewed says that permits were renewed, in the turn that is. */
  renewed(permits: HeldPermits): void {
    const aged = this.#old.get(permits)
    if (aged !== undefined) aged.renewedAt = this.#turns
  }
}
