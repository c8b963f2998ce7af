const HALF_MS = 60_000

/**
 * Accepts throttles by what a server accepted of late, where it says nothing of its limits: calls are dropped at random with the
 * chance `max(0, (requests - 2 * accepts) / (requests + 1))` over the last two minutes (Google's SRE book, "Handling Overload").
 */
export class Accepts {
  #halfStartedMs = 0
  #requests = [0, 0]
  #accepts = [0, 0]

  /** mayGo says whether to send a call. What is dropped counts as requested. */
  mayGo(nowMs: number, random: number): boolean {
    this.#turn(nowMs)
    const requests = this.#requests[0] + this.#requests[1]
    const accepts = this.#accepts[0] + this.#accepts[1]
    this.#requests[0]++
    return random >= (requests - 2 * accepts) / (requests + 1)
  }

  accepted(nowMs: number): void {
    this.#turn(nowMs)
    this.#accepts[0]++
  }

  #turn(nowMs: number): void {
    const halves = Math.floor((nowMs - this.#halfStartedMs) / HALF_MS)
    if (halves < 1) return
    const isNext = halves === 1
    this.#requests = [0, isNext ? this.#requests[0] : 0]
    this.#accepts = [0, isNext ? this.#accepts[0] : 0]
    this.#halfStartedMs = isNext ? this.#halfStartedMs + HALF_MS : nowMs
  }
}
