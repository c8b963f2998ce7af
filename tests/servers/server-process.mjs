// @ts-check
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { requireCommand } from '../../scripts/system-packages.mjs'
import { reapAtExit } from './reaper.mjs'
import { until } from './until.mjs'

const graceMs = 3000

/** One run of a server. It ends with this process at the latest. Its output goes to `log` in `dir`. */
export class ServerProcess {
  #child
  #logFile
  #paused = false

  /** @param {{ command: string, args: string[], dir: string, user?: { uid: number, gid: number } }} settings */
  constructor({ command, args, dir, user }) {
    this.#logFile = join(dir, 'log')
    const log = openSync(this.#logFile, 'w')
    this.#child = spawn(requireCommand(command), args, { cwd: dir, stdio: ['ignore', log, log], ...user })
    closeSync(log)
    this.#child.unref()
    reapAtExit(this.#child)
  }

  get pid() {
    return /** @type {number} */ (this.#child.pid)
  }

  get isRunning() {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Returns whether it runs and is not paused. */
  get isUp() {
    return this.isRunning && !this.#paused
  }

  /** Returns all that it has printed. */
  log() {
    return readFileSync(this.#logFile, 'utf8')
  }

  /** Ends it at once and resolves when it has ended. */
  async kill() {
    await this.end('SIGKILL')
  }

  /** Asks it to end, and kills it when it takes too long. */
  async terminate() {
    this.resume()
    const impatience = setTimeout(() => this.#child.kill('SIGKILL'), graceMs)
    await this.end('SIGTERM')
    clearTimeout(impatience)
  }

  /**
   * Sends a signal that ends it, and resolves when it has ended.
   * @param {NodeJS.Signals} signal
   */
  async end(signal) {
    if (!this.isRunning) return
    const ended = once(this.#child, 'exit')
    this.#child.ref()
    this.#child.kill(signal)
    await ended
  }

  /** Stops it in its tracks: its connections stay, and nothing answers. It resolves when that is so. */
  async pause() {
    this.#child.kill('SIGSTOP')
    this.#paused = true
    await until(`process ${this.pid} is stopped`, () => stateOf(this.pid) === 'T')
  }

  /** Ends a pause. */
  resume() {
    this.#child.kill('SIGCONT')
    this.#paused = false
  }
}

/**
 * Returns the state of a process as Linux tells it. Elsewhere a signal sent is taken for a signal received.
 * @param {number} pid
 */
function stateOf(pid) {
  const file = `/proc/${pid}/stat`
  return existsSync('/proc/self/stat') ? /\) (\w)/.exec(readFileSync(file, 'utf8'))?.[1] : 'T'
}
