import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { Connection } from './connection.mjs'

/** Load makes calls over several connections to one server. */
export class Load {
  #connections = []

  static async open(port, connections, traffic) {
    const load = new Load()
    for (let i = 0; i < connections; i++) load.#connections.push(await Connection.open(port, traffic))
    return load
  }

  get answers() {
    return this.#sum('answers')
  }

  get failures() {
    const unsound = this.#connections.filter((each) => each.inFlight === 0 && !each.isSound).length
    return this.#sum('failures') + unsound
  }

  #sum(field) {
    return this.#connections.reduce((sum, each) => sum + each[field], 0)
  }

  close() {
    for (const each of this.#connections) each.close()
  }

  /** closed keeps `inFlight` calls under way on each connection, each that ends followed by another, while `during` runs. */
  async closed(inFlight, during) {
    let isOver = false
    for (const each of this.#connections) {
      const fill = () => {
        while (!isOver && each.inFlight < inFlight && each.call(0));
        each.flush()
      }
      each.onAnswers = fill
      fill()
    }
    const measured = await during()
    isOver = true
    await this.#drained()
    return measured
  }

  /**
   * scheduled starts calls on a fixed schedule, in turn over the connections, whether or not those before have ended. It returns
   * how long after its time on the schedule each one ended, in ms. Arrivals are looked at in every turn of the event loop:
   * a timer is too coarse, and a client that waits for answers would not see the time that a slow server makes others wait.
   */
  async scheduled(perSecond, ms) {
    const total = Math.floor((perSecond * ms) / 1000)
    const times = new Float64Array(total)
    let ended = 0
    for (const each of this.#connections) {
      each.onAnswers = () => {}
      each.onTime = (dueAt) => {
        if (ended < total) times[ended++] = performance.now() - dueAt
      }
    }
    const startAt = performance.now()
    let arrived = 0
    while (arrived < total) {
      const due = Math.min(total, Math.floor(((performance.now() - startAt) * perSecond) / 1000))
      while (arrived < due) {
        const connection = this.#connections[arrived % this.#connections.length]
        if (!connection.call(startAt + (arrived * 1000) / perSecond)) break
        arrived++
      }
      for (const each of this.#connections) each.flush()
      await nextTurn()
    }
    await this.#drained()
    for (const each of this.#connections) each.onTime = undefined
    return times.subarray(0, ended).sort()
  }

  async #drained() {
    const giveUpAt = performance.now() + 10_000
    while (this.#sum('inFlight') > 0 && performance.now() < giveUpAt) await pause(1)
  }
}
