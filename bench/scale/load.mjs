/** Makes decisions about callers in a given order. A decision may be a value or a promise. */
export class Load {
  done = 0
  refused = 0
  failed = 0
  /** How many failed, by the kind of the failure. */
  reasons = {}
  /** Called with every decision, where refusals are due. */
  dueRefusals = undefined
  #decide
  #order
  #at = 0

  constructor(decide, order) {
    this.#decide = decide
    this.#order = order
  }

  #begin() {
    this.#at = (this.#at + 1) % this.#order.length
    return this.#decide(this.#order[this.#at])
  }

  #ended(verdicts) {
    this.done++
    this.dueRefusals?.add()
    if (!verdicts[0].allowed) this.refused++
  }

  #failed(fault) {
    this.failed++
    const reason = fault.reason ?? fault.message
    this.reasons[reason] = (this.reasons[reason] ?? 0) + 1
  }

  /**
   * Keeps up to `inFlight` decisions in flight until `during` has ended. A turn of the event loop begins as many as
   * there is room for: a synchronous answer makes room in the same turn, but the next turn comes first. So a server
   * reads what its sockets received.
   */
  async closed(inFlight, during) {
    let isOver = false
    let waiting = 0
    let wake = () => {}
    const left = () => {
      waiting--
      wake()
    }
    const ended = (verdicts) => {
      this.#ended(verdicts)
      left()
    }
    const failed = (fault) => {
      this.#failed(fault)
      left()
    }
    const run = async () => {
      while (!isOver) {
        for (let places = inFlight - waiting; places > 0; places--) {
          const answer = this.#begin()
          if (!(answer instanceof Promise)) this.#ended(answer)
          else {
            waiting++
            answer.then(ended, failed)
          }
        }
        if (waiting < inFlight) await turn()
        else
          await new Promise((resolve) => {
            wake = resolve
          })
      }
      while (waiting > 0) await turn()
    }
    const running = run()
    const measured = await during()
    isOver = true
    await running
    return measured
  }

  /**
   * Begins decisions on a fixed schedule, whether or not earlier ones have ended, and returns how long after its time
   * on the schedule each one ended, in ms and sorted, without the first `warmUpMs`. Arrivals are looked at in every
   * turn of the event loop: a timer is too coarse. Above `mostInFlight` they wait, which counts.
   */
  async open(perSecond, { ms, warmUpMs, mostInFlight, warmedUp }) {
    const total = Math.floor((perSecond * (ms + warmUpMs)) / 1000)
    const first = Math.floor((perSecond * warmUpMs) / 1000)
    const times = new Float64Array(total - first)
    const startAt = performance.now()
    let arrived = 0
    let waiting = 0
    const ended = (n) => {
      if (n >= first) times[n - first] = performance.now() - startAt - (n * 1000) / perSecond
    }
    const wait = async (n, answer) => {
      waiting++
      try {
        this.#ended(await answer)
      } catch (fault) {
        this.#failed(fault)
      }
      waiting--
      ended(n)
    }
    while (arrived < total) {
      const due = Math.min(total, Math.floor(((performance.now() - startAt) * perSecond) / 1000))
      for (; arrived < due && waiting < mostInFlight; arrived++) {
        if (arrived === first) warmedUp?.()
        const answer = this.#begin()
        if (answer instanceof Promise) void wait(arrived, answer)
        else {
          this.#ended(answer)
          ended(arrived)
        }
      }
      await turn()
    }
    while (waiting > 0) await turn()
    return times.sort()
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
