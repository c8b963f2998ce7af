import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'
import { DatabaseFault, type SqlErrorForm } from './database-fault.ts'

const MAIN = fileURLToPath(new URL('./pglite-main.js', import.meta.url))

type FromChild =
  | { readonly type: 'ready' | 'made' }
  | { readonly type: 'refused'; readonly code: ErrorCode; readonly detail: string }
  | { readonly type: 'failed'; readonly detail: string }
  | { readonly type: 'notice'; readonly channel: string; readonly payload: string }
  | ({ readonly type?: undefined; readonly id: number } & Answer)
  | { readonly type?: undefined; readonly id: number; readonly error: Partial<SqlErrorForm> }

export interface Answer {
  readonly rows: readonly unknown[]
  /** What the last statement did, such as COMMIT. */
  readonly command?: string | undefined
}

/** What a process is asked: a statement, or to listen on a channel. */
export type Request =
  | { readonly sql: string; readonly values?: readonly unknown[] | undefined }
  | { readonly channel: string }

interface Waiting {
  resolve(answer: Answer): void
  reject(error: Error): void
  readonly deadline: NodeJS.Timeout
}

export interface PgliteEvents {
  notice(channel: string, payload: string): void
  ended(): void
}

/** Starts a process on a data directory, and resolves when the process answers. */
export async function startPglite(dataDir: string, events: PgliteEvents): Promise<PgliteProcess> {
  // Loaded here: a service without quotas starts no process.
  const { fork } = await import('node:child_process')
  const launch = (): ChildProcess =>
    fork(MAIN, [dataDir], { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'], serialization: 'advanced' })
  const first = new PgliteProcess(launch(), dataDir, events)
  if ((await first.started) === 'ready') return first
  const second = new PgliteProcess(launch(), dataDir, events)
  await second.started
  return second
}

/** A PgliteProcess is one run of PGlite. It answers in order. */
export class PgliteProcess {
  /** `made`: it has made the database and has exited. */
  readonly started: Promise<'ready' | 'made'>
  readonly #child: ChildProcess
  readonly #dataDir: string
  readonly #events: PgliteEvents
  readonly #waiting = new Map<number, Waiting>()
  readonly #gone: Promise<void>
  #count = 0
  #isReady = false

  constructor(child: ChildProcess, dataDir: string, events: PgliteEvents) {
    this.#child = child
    this.#dataDir = dataDir
    this.#events = events
    this.#gone = new Promise((resolve) => {
      child.once('exit', () => {
        this.#failAll('its process has ended')
        resolve()
        if (this.#isReady) events.ended()
      })
      // Either it was never started, and no end will follow; or a message went to a process that has just ended, and
      // its exit is reported.
      child.on('error', () => child.pid === undefined && resolve())
    })
    this.started = this.#untilStarted()
    child.on('message', (message) => this.#heard(message as FromChild))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  async #untilStarted(): Promise<'ready' | 'made'> {
    const first = await new Promise<FromChild | undefined>((resolve) => {
      this.#child.once('message', (message) => resolve(message as FromChild))
      void this.#gone.then(() => resolve(undefined))
    })
    if (first?.type === 'ready') {
      this.#isReady = true
      return 'ready'
    }
    await this.#gone
    if (first?.type === 'made') return 'made'
    if (first?.type === 'refused') throw new SluiceError(first.code, this.#dataDir, first.detail)
    const detail = first?.type === 'failed' ? first.detail : 'its process ended while it started'
    throw new SluiceError('DATABASE_UNAVAILABLE', this.#dataDir, detail)
  }

  /**
   * Resolves with the answer. A statement that takes longer than `withinMs` ends the process: nothing else stops it.
   */
  ask(request: Request, withinMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (!this.#child.connected) return reject(this.#away('its process has ended'))
      const id = this.#count++
      const deadline = setTimeout(() => this.kill(), withinMs)
      this.#waiting.set(id, { resolve, reject, deadline })
      this.#child.send({ id, ...request })
    })
  }

  #heard(message: FromChild): void {
    if (message.type === 'notice') this.#events.notice(message.channel, message.payload)
    if (message.type !== undefined) return
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    clearTimeout(waiting?.deadline)
    if ('rows' in message) {
      waiting?.resolve(message)
      return
    }
    const { message: text = 'no reason', code = 'XX000', constraint } = message.error
    waiting?.reject(new DatabaseFault(this.#dataDir, { message: text, code, constraint }))
  }

  #away(detail: string): SluiceError {
    return new SluiceError('DATABASE_UNAVAILABLE', this.#dataDir, detail)
  }

  #failAll(detail: string): void {
    for (const { reject, deadline } of this.#waiting.values()) {
      clearTimeout(deadline)
      reject(this.#away(detail))
    }
    this.#waiting.clear()
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Lets the process close its database, and resolves when it has exited. */
  async end(): Promise<void> {
    this.#isReady = false
    if (this.#child.connected) this.#child.disconnect()
    const impatience = setTimeout(() => this.kill(), 10_000)
    await this.#gone
    clearTimeout(impatience)
  }
}
