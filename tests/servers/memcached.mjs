// @ts-check
import { connect } from 'node:net'
import { freePort } from './ports.mjs'
import { makeTemporaryDir } from './reaper.mjs'
import { ServerProcess } from './server-process.mjs'
import { until } from './until.mjs'

/** A Memcached that this process has started, and that ends with it. */
export class MemcachedServer {
  #dir
  #args
  #process

  /**
   * @param {number} port
   * @param {string} dir
   * @param {readonly string[]} args
   */
  constructor(port, dir, args) {
    this.port = port
    this.#dir = dir
    this.#args = args
    this.#process = this.#launch()
  }

  get address() {
    return `127.0.0.1:${this.port}`
  }

  #launch() {
    const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
    const args = ['-p', `${this.port}`, '-l', '127.0.0.1', '-U', '0', '-t', '1', ...user, ...this.#args]
    return new ServerProcess({ command: 'memcached', args, dir: this.#dir })
  }

  get isRunning() {
    return this.#process.isRunning
  }

  async ready() {
    await until(`Memcached answers on port ${this.port}`, async () => !this.isRunning || (await answers(this.port)))
    if (!this.isRunning) throw new Error(`Memcached ended on port ${this.port}: ${this.#process.log().trim()}`)
  }

  /** Starts it again on the same port, empty. */
  async restart() {
    await this.#process.kill()
    this.#process = this.#launch()
    await this.ready()
  }

  stop() {
    return this.#process.kill()
  }
}

/** @param {number} port */
function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('version\r\n'))
    socket.once('data', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/**
 * Starts a Memcached on a free loopback port, and resolves when it answers.
 * @param {...string} args more settings, as the command line takes them
 */
export async function startMemcached(...args) {
  for (let attempt = 1; ; attempt++) {
    const server = new MemcachedServer(await freePort(), makeTemporaryDir('memcached'), args)
    try {
      await server.ready()
      return server
    } catch (error) {
      await server.stop()
      if (attempt === 5) throw error
    }
  }
}
