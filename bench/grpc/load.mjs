import { setTimeout as pause } from 'node:timers/promises'
import { paced } from '../pace.mjs'
import { Connection } from './connection.mjs'

/** Makes calls over several connections to one server. */
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

  /** Keeps `inFlight` calls in flight on each connection, starting another when one ends, while `during` runs. */
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
   * Starts calls on a fixed schedule, in turn over the connections, whether or not those before have ended. It returns
   * how long after its time on the schedule each one ended, and how late it was sent, in ms and sorted. A client that
   * waits for answers would not see the time that a slow server makes others wait.
   */
  async scheduled(perSecond, ms, { isSleeping = true } = {}) {
    const total = Math.floor((perSecond * ms) / 1000)
    const times = new Float64Array(total)
    let ended = 0
    for (const each of this.#connections) {
      each.onAnswers = () => {}
      each.onTime = (dueAt) => {
        if (ended < total) times[ended++] = performance.now() - dueAt
      }
    }
    const late = await paced(perSecond, total, {
      isSleeping,
      begin: (n, dueAt) => this.#connections[n % this.#connections.length].call(dueAt),
      flush: () => {
        for (const each of this.#connections) each.flush()
      },
    })
    await this.#drained()
    for (const each of this.#connections) each.onTime = undefined
    return { times: times.subarray(0, ended).sort(), late }
  }

  async #drained() {
    const giveUpAt = performance.now() + 10_000
    while (this.#sum('inFlight') > 0 && performance.now() < giveUpAt) await pause(1)
  }
}
