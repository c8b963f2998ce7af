import { Agent, request } from 'node:http'

/** A caller that waits longer gets no answer: what it asked may have been counted. */
const GIVE_UP_MS = 2_000
const TICK_MS = 20

/**
 * Asks every node so many times a second, half of them about a key that has no end and half about one with a limit, and
 * keeps what became of each call. A call is sent when it is due, whether or not earlier ones were answered.
 */
export class Load {
  #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  #timer
  #sent = 0
  #startMs = performance.now()
  #open = 0
  /** Calls, in the order of their ends. */
  calls = []

  constructor(nodes, perSecond) {
    this.nodes = nodes
    this.#timer = setInterval(() => this.#send(perSecond), TICK_MS)
  }

  #send(perSecond) {
    const due = ((performance.now() - this.#startMs) * perSecond) / 1_000
    for (; this.#sent < due; this.#sent++) {
      for (const [node, { http }] of this.nodes.entries()) this.#ask(node, http, this.#sent % 2 === 0)
    }
  }

  #ask(node, address, isCounted) {
    const [host, port] = address.split(':')
    const call = { node, isCounted, startMs: performance.now(), endMs: 0, how: 'none', allowed: false, remaining: -1 }
    const key = isCounted ? 'counted' : 'checked'
    const body = JSON.stringify({ domain: 'chaos', descriptors: [{ entries: [{ key, value: 'one' }] }] })
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const options = { agent: this.#agent, method: 'POST', path: '/v1/check', host, port, headers, timeout: GIVE_UP_MS }
    let isOver = false
    const over = () => {
      if (isOver) return
      isOver = true
      this.#open--
      call.endMs = performance.now()
      this.calls.push(call)
    }
    this.#open++
    const sent = request(options, (response) => {
      call.allowed = response.statusCode === 200
      call.remaining = Number(response.headers['x-ratelimit-remaining'] ?? -1)
      if (response.statusCode === 200 || response.statusCode === 429) {
        call.how = response.headers['sluice-fallback'] === undefined ? 'store' : 'fallback'
      }
      response.resume()
      response.once('close', over)
    })
    sent.once('timeout', () => sent.destroy())
    sent.once('error', over)
    sent.once('close', over)
    sent.end(body)
  }

  /** Resolves once every node has answered so many calls in a row from the store, or after a time. Returns whether. */
  async recovered(inARow, withinMs) {
    const fromMs = performance.now()
    const isWell = (node) => {
      const ended = this.calls.filter((call) => call.node === node && call.startMs > fromMs)
      return ended.length >= inARow && ended.slice(-inARow).every(({ how }) => how === 'store')
    }
    while (performance.now() < fromMs + withinMs) {
      await new Promise((resolve) => setTimeout(resolve, 2 * TICK_MS))
      if (this.nodes.every((_, node) => isWell(node))) return true
    }
    return false
  }

  /** Sends nothing more, and resolves when all that was sent has ended. */
  async stop() {
    clearInterval(this.#timer)
    while (this.#open > 0) await new Promise((resolve) => setTimeout(resolve, TICK_MS))
    this.#agent.destroy()
    return this.calls
  }
}
