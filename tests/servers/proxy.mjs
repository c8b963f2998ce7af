// @ts-check
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { freePort } from './ports.mjs'
import { until } from './until.mjs'

/** @typedef {import('node:net').Socket} Socket */

/** @typedef {(chunk: Buffer) => Buffer | string | undefined} Rewrite returns what to forward; undefined forwards nothing */

/** Stands between a client and a server on loopback, and fails as networks do. Faults add up; heal() ends them all. */
export class FaultProxy {
  #targetPort
  #server
  /** @type {Set<Link>} */
  #links = new Set()
  #holding = false
  #delayMs = 0
  /** @type {{ requests?: Rewrite | undefined, replies?: Rewrite | undefined }} */
  #rewrites = {}

  /**
   * @param {number} targetPort
   * @param {number} port
   */
  constructor(targetPort, port) {
    this.#targetPort = targetPort
    this.host = '127.0.0.1'
    this.port = port
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client))
  }

  get url() {
    return `redis://${this.host}:${this.port}`
  }

  /** The number of connections that are open through the proxy. */
  get connections() {
    return this.#links.size
  }

  /** Takes connections again after refuse(). */
  async listen() {
    if (this.#server.listening) return
    this.#server.listen({ host: this.host, port: this.port, exclusive: true })
    await once(this.#server, 'listening')
  }

  /** @param {Socket} client */
  #accept(client) {
    const target = connect({ host: this.host, port: this.#targetPort, allowHalfOpen: true, noDelay: true })
    const link = new Link(client, target, {
      request: (chunk) => rewrite(chunk, this.#rewrites.requests),
      reply: (chunk) => rewrite(chunk, this.#rewrites.replies),
      replyDelayMs: () => this.#delayMs,
    })
    if (this.#holding) link.hold()
    this.#links.add(link)
    client.once('close', () => this.#links.delete(link))
  }

  /** Forwards nothing any more, in old connections and new ones. heal() delivers what was held back. */
  blackhole() {
    this.#holding = true
    for (const link of this.#links) link.hold()
  }

  /** Refuses new connections; open ones stay. */
  async refuse() {
    if (!this.#server.listening) return
    this.#server.close()
    await until(`port ${this.port} refuses`, () => refuses(this.port))
  }

  /**
   * Forwards each reply that much later.
   * @param {number} ms
   */
  delay(ms) {
    this.#delayMs = ms
  }

  /** Breaks all open connections with a reset; new ones are welcome. */
  async cut() {
    const links = [...this.#links]
    this.#links.clear()
    await Promise.all(links.map((link) => link.cut()))
  }

  /**
   * Has every chunk of requests or replies pass through a function on its way.
   * @param {{ requests?: Rewrite, replies?: Rewrite }} rewrites
   */
  rewrite(rewrites) {
    this.#rewrites = rewrites
  }

  /** Ends all faults. Connections that are still open live on. */
  async heal() {
    this.#holding = false
    this.#delayMs = 0
    this.#rewrites = {}
    for (const link of this.#links) link.release()
    await this.listen()
  }

  /** Closes everything. */
  async stop() {
    this.#server.close()
    await this.cut()
  }

  async [Symbol.asyncDispose]() {
    await this.stop()
  }
}

/**
 * @param {Buffer} chunk
 * @param {Rewrite | undefined} change
 */
const rewrite = (chunk, change) => (change === undefined ? chunk : change(chunk))

/** @param {number} port */
async function refuses(port) {
  const socket = connect({ host: '127.0.0.1', port })
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}

/** One connection through the proxy: two sockets and what is under way between them. */
class Link {
  #client
  #target

  /**
   * @param {Socket} client
   * @param {Socket} target
   * @param {{ request: Rewrite, reply: Rewrite, replyDelayMs: () => number }} faults
   */
  constructor(client, target, { request, reply, replyDelayMs }) {
    this.#client = client
    this.#target = target
    this.#forward(client, target, request, () => 0)
    this.#forward(target, client, reply, replyDelayMs)
  }

  /**
   * @param {Socket} source
   * @param {Socket} sink
   * @param {Rewrite} change
   * @param {() => number} delayMs
   */
  #forward(source, sink, change, delayMs) {
    // One after the other, so that a shorter delay does not overtake a longer one.
    let last = Promise.resolve()
    /** @param {() => void} act */
    const later = (act) => {
      const ms = delayMs()
      const due = ms === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms))
      last = last.then(() => due).then(act)
    }
    source.on('data', (chunk) =>
      later(() => {
        const changed = change(chunk)
        if (changed !== undefined && sink.writable) sink.write(changed)
      }),
    )
    source.on('end', () => later(() => sink.end()))
    // A side that breaks takes the other with it.
    source.on('error', () => sink.resetAndDestroy())
    source.on('close', () => later(() => sink.destroySoon()))
  }

  hold() {
    this.#client.pause()
    this.#target.pause()
  }

  release() {
    this.#client.resume()
    this.#target.resume()
  }

  async cut() {
    // A side that its other end has reset cannot be reset again: then there is an error, and never a close.
    const ended = new Promise((resolve) => {
      if (this.#client.destroyed) resolve(undefined)
      else for (const event of ['close', 'error']) this.#client.once(event, resolve)
    })
    this.#client.resetAndDestroy()
    this.#target.resetAndDestroy()
    await ended
  }
}

/**
 * Listens on a free loopback port and forwards to another one.
 * @param {number} targetPort
 * @returns {Promise<FaultProxy>}
 */
export async function startProxy(targetPort) {
  for (let attempt = 1; ; attempt++) {
    const proxy = new FaultProxy(targetPort, await freePort())
    try {
      await proxy.listen()
      return proxy
    } catch (error) {
      if (attempt === 5) throw error
    }
  }
}
