const HALF_MS = 60_000

/** Drops calls to a server that says nothing of its limits. There is one for each server and caller. */
export interface Throttle {
  /** Returns whether to send a call. `random` is from 0 to 1. */
  mayGo(nowMs: number, random: number): boolean
  /** Records a call that was not refused. */
  accepted(nowMs: number): void
}

/** Client-side throttling by what a server accepted of late, see Accepts. */
export const acceptsRatio = (): Throttle => new Accepts()

/**
 * Throttles by what a server accepted of late, where it says nothing of its limits: calls are dropped at random with
 * the chance `max(0, (requests - 2 * accepts) / (requests + 1))` over the last two minutes (Google's SRE book,
 * "Handling Overload").
 */
export class Accepts implements Throttle {
  #half = 0
  /** Of this minute and the one before: `requests - 2 * accepts`, and requests. */
  #now = [0, 0]
  #before = [0, 0]

  /** Returns whether to send a call. What is dropped counts as requested. */
  mayGo(nowMs: number, random: number): boolean {
    this.#turn(nowMs)
    const [excess, requests] = this.#now.map((count, i) => count + this.#before[i])
    this.#now[0]++
    this.#now[1]++
    return random >= excess / (requests + 1)
  }

  accepted(nowMs: number): void {
    this.#turn(nowMs)
    this.#now[0] -= 2
  }

  #turn(nowMs: number): void {
    const half = Math.floor(nowMs / HALF_MS)
    if (half === this.#half) return
    this.#before = half === this.#half + 1 ? this.#now : [0, 0]
    this.#now = [0, 0]
    this.#half = half
  }
}
