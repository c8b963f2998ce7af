import { setTimeout as pause } from 'node:timers/promises'

/** Makes decisions about random callers, and counts what came of them. */
export class Load {
  done = 0
  refused = 0
  /** How many decisions failed, by the kind of the failure. */
  failed = {}
  #decide
  #order
  #at = 0

  /** Which callers come, over and over. */
  constructor(decide, order) {
    this.#decide = decide
    this.#order = order
  }

  #next() {
    this.#at = (this.#at + 1) % this.#order.length
    return this.#order[this.#at]
  }

  /** Keeps `inFlight` decisions in flight, starting another when one ends. Resolves once `during` has. */
  async closed(inFlight, during) {
    let isOver = false
    const slot = async () => {
      while (!isOver) await this.#one()
    }
    const slots = Array.from({ length: inFlight }, slot)
    const measured = await during()
    isOver = true
    await Promise.all(slots)
    return measured
  }

  async #one() {
    try {
      if (!(await this.#decide(this.#next()))) this.refused++
      this.done++
    } catch (error) {
      const kind = error.reason ?? error.message
      this.failed[kind] = (this.failed[kind] ?? 0) + 1
    }
  }

  /**
   * Starts decisions on a fixed schedule, whether or not earlier ones have ended, and returns how long after its time
   * on the schedule each one ended, in ms, without the first `warmUpMs`. Above `mostInFlight` arrivals wait, and their
   * waiting counts. Arrivals are looked at in every turn of the event loop: a timer is too coarse.
   */
  async open(perSecond, { ms, warmUpMs, mostInFlight }) {
    const total = Math.floor((perSecond * (ms + warmUpMs)) / 1000)
    const first = Math.floor((perSecond * warmUpMs) / 1000)
    const times = new Float64Array(total - first)
    const startAt = performance.now()
    let arrived = 0
    let inFlight = 0
    const ended = (n, dueAt) => {
      inFlight--
      if (n >= first) times[n - first] = performance.now() - dueAt
    }
    while (arrived < total) {
      const due = Math.min(total, Math.floor(((performance.now() - startAt) * perSecond) / 1000))
      for (; arrived < due && inFlight < mostInFlight; arrived++) {
        const n = arrived
        const dueAt = startAt + (n * 1000) / perSecond
        inFlight++
        void this.#one().then(() => ended(n, dueAt))
      }
      await turn()
    }
    while (inFlight > 0) await pause(1)
    return times.sort()
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
