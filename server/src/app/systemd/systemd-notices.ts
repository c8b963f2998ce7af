import { execFile } from 'node:child_process'
import type { Log } from '../log/log.ts'

/** Sends one line, such as READY=1, to systemd. Rejects when systemd does not receive it. */
export type Send = (line: string) => Promise<void>

const COMMAND = 'systemd-notify'
const TIMEOUT_MS = 5_000

/**
 * Notifies systemd (Type=notify) that the service is ready, that it is alive, and that it is stopping. systemd listens
 * on a datagram socket, which Node.js cannot open: its own command systemd-notify sends for us, and the unit has
 * NotifyAccess=all. Heartbeats are sent by a timer of the event loop: a loop that is stuck sends none, and systemd
 * restarts the service.
 */
export class SystemdNotices {
  readonly #send: Send
  readonly #log: Log
  readonly #everyMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isSending = false
  #hasFailed = false

  constructor(env: NodeJS.ProcessEnv, log: Log, send: Send = sendBySystemdNotify) {
    this.#send = send
    this.#log = log
    this.#everyMs = watchdogMs(env)
  }

  /** Reports that the service accepts requests, and starts heartbeats if the unit has WatchdogSec. */
  ready(): void {
    void this.#say('READY=1')
    if (this.#everyMs === undefined) return
    this.#timer = setInterval(() => void this.#beat(), this.#everyMs)
    this.#timer.unref()
  }

  /** Reports that the service is stopping. Heartbeats continue until it has stopped. */
  stopping(): void {
    void this.#say('STOPPING=1')
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** A heartbeat that is still being sent is as good as another one. */
  async #beat(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    await this.#say('WATCHDOG=1')
    this.#isSending = false
  }

  async #say(line: string): Promise<void> {
    try {
      await this.#send(line)
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) {
        this.#log.warn('systemd.failed', `systemd cannot be notified of ${line}: ${(error as Error).message.trim()}`)
      }
      this.#hasFailed = true
    }
  }
}

/** Returns half the time after which systemd misses a heartbeat; undefined where it expects none from this process. */
function watchdogMs({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv): number | undefined {
  const everyUs = Number(WATCHDOG_USEC ?? '')
  if (!(everyUs > 0) || (WATCHDOG_PID !== undefined && Number(WATCHDOG_PID) !== process.pid)) return undefined
  return Math.max(1, Math.floor(everyUs / 2_000))
}

function sendBySystemdNotify(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(COMMAND, [line], { timeout: TIMEOUT_MS }, (error) => (error === null ? resolve() : reject(error)))
  })
}
