import { execFile } from 'node:child_process'
import type { Log } from '../log/log.ts'

/** A Tell hands one line, such as READY=1, to systemd. It rejects when systemd does not get it. */
export type Tell = (line: string) => Promise<void>

const COMMAND = 'systemd-notify'
const TIMEOUT_MS = 5_000

/**
 * SystemdNotices tell systemd (Type=notify) that the service is ready, that it still lives, and that it ends. systemd listens on a
 * datagram socket, which Node.js cannot open: its own command systemd-notify speaks for us, and the unit has NotifyAccess=all. Signs
 * of life are sent by a timer of the event loop: one that is stuck sends none, and systemd starts the service anew.
 */
export class SystemdNotices {
  readonly #tell: Tell
  readonly #log: Log
  readonly #everyMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isTelling = false
  #hasFailed = false

  constructor(env: NodeJS.ProcessEnv, log: Log, tell: Tell = tellBySystemdNotify) {
    this.#tell = tell
    this.#log = log
    this.#everyMs = watchdogMs(env)
  }

  /** Says that the service takes requests, and begins with signs of life where the unit has WatchdogSec. */
  ready(): void {
    void this.#say('READY=1')
    if (this.#everyMs === undefined) return
    this.#timer = setInterval(() => void this.#sayAlive(), this.#everyMs)
    this.#timer.unref()
  }

  /** Says that the service was told to end. Signs of life go on until it has. */
  stopping(): void {
    void this.#say('STOPPING=1')
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** A sign that is still under way is as good as another one. */
  async #sayAlive(): Promise<void> {
    if (this.#isTelling) return
    this.#isTelling = true
    await this.#say('WATCHDOG=1')
    this.#isTelling = false
  }

  async #say(line: string): Promise<void> {
    try {
      await this.#tell(line)
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) {
        this.#log.warn('systemd.failed', `systemd does not hear ${line}: ${(error as Error).message.trim()}`)
      }
      this.#hasFailed = true
    }
  }
}

/** watchdogMs is half the time after which systemd misses a sign of life; undefined where it does not wait for any of ours. */
function watchdogMs({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv): number | undefined {
  const everyUs = Number(WATCHDOG_USEC ?? '')
  if (!(everyUs > 0) || (WATCHDOG_PID !== undefined && Number(WATCHDOG_PID) !== process.pid)) return undefined
  return Math.max(1, Math.floor(everyUs / 2_000))
}

function tellBySystemdNotify(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(COMMAND, [line], { timeout: TIMEOUT_MS }, (error) => (error === null ? resolve() : reject(error)))
  })
}
