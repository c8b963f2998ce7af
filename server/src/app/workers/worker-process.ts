import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type InForce, NOTHING_IN_FORCE } from '../../quotas/book/in-force.ts'
import { DOOR_NAMES, type DoorName } from '../doors/door.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { FromWorker, ToWorker } from './messages.ts'

const MAIN = fileURLToPath(new URL('./worker-main.js', import.meta.url))

/**
 * The V8 flags of a worker. A decision leaves garbage and keeps next to nothing: a young generation that starts with
 * its full 16 MiB is collected a fourth as often as one that starts with 1 and grows only with what it keeps. Flags of
 * this process come later, and win.
 */
const V8_FLAGS = ['--min-semi-space-size=16']

/** The events of a WorkerProcess. */
export interface WorkerEvents {
  received(worker: WorkerProcess, message: FromWorker): void
  /** It has ended, whatever the reason. */
  ended(worker: WorkerProcess, how: string): void
}

/** A connection that a door has accepted, and that has not been read from. */
export interface Connection {
  readonly door: DoorName
  readonly socket: Socket
}

/** One worker, as the primary sees it. */
export class WorkerProcess {
  readonly id: number
  readonly #child: ChildProcess
  readonly #open = new Map<DoorName, number>(DOOR_NAMES.map((door) => [door, 0]))
  readonly #inFlight = new Map<number, Connection>()
  #given = 0
  /** starting: not usable yet; ready: takes connections; leaving: takes no more. */
  state: 'starting' | 'ready' | 'leaving' = 'starting'
  /** What it decides by, according to its last report. */
  inForce: InForce = NOTHING_IN_FORCE
  /** Why it could not continue, if it reported that. */
  lastWords: string | undefined
  /** Whether another worker is about to take its place. */
  hasSuccessor = false
  readonly startedAtMs = Date.now()
  /** When it became ready, as performance.now() counts. */
  readyAtMs: number | undefined
  /** Waits until it is ready, then checks that it still answers. */
  heartbeat: Heartbeat | undefined
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>

  constructor(id: number, events: WorkerEvents) {
    this.id = id
    // Parts of rules hold maps and typed arrays, which JSON cannot express.
    this.#child = fork(MAIN, [], {
      execArgv: [...V8_FLAGS, ...process.execArgv],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    this.#child.on('message', (message) => events.received(this, message as FromWorker))
    this.ended = new Promise((resolve) => {
      let how: string | undefined
      // Its last messages may still be in transit when the process is gone: the end of the channel follows them.
      const look = (): void => {
        if (how === undefined || this.#child.connected) return
        events.ended(this, how)
        resolve()
      }
      this.#child.once('exit', (code, signal) => {
        how = signal === null ? `exit code ${code}` : `signal ${signal}`
        look()
      })
      this.#child.once('disconnect', look)
      this.#child.on('error', (error: NodeJS.ErrnoException) => {
        // Otherwise it is about a message to a process that has just ended, and that end is reported above.
        if (this.#child.pid !== undefined) return
        how = `no process: ${error.code}`
        if (this.#child.connected) this.#child.disconnect()
        look()
      })
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  open(door: DoorName): number {
    return this.#open.get(door) ?? 0
  }

  send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message)
  }

  /** Hands a connection over. This process keeps it, unread, until the worker confirms that it has it. */
  give(connection: Connection): void {
    const { door, socket } = connection
    const number = this.#given++
    this.#inFlight.set(number, connection)
    this.#open.set(door, this.open(door) + 1)
    this.#child.send({ type: 'connection', door, number } satisfies ToWorker, socket, { keepOpen: true }, () => {})
  }

  /** Releases a connection that the worker has received. */
  taken(number: number): void {
    // Closes our handle of it, not the connection.
    this.#inFlight.get(number)?.socket.destroy()
    this.#inFlight.delete(number)
  }

  /** Returns the connections that a worker had not received when it ended. */
  untaken(): readonly Connection[] {
    return [...this.#inFlight.values()]
  }

  /** Called when a connection has ended. */
  lost(door: DoorName): void {
    this.#open.set(door, Math.max(0, this.open(door) - 1))
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
