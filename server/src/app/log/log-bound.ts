import type { LogEntry } from './log-entry.ts'

const WINDOW_MS = 1_000
/** How many different messages of one event are told within a second. */
const MAX_MESSAGES = 10

interface Seen {
  readonly entry: LogEntry
  /** The workers that told it: what all of them see is one event. */
  readonly workers: Set<number | undefined>
  untold: number
}

/**
 * Passes on what it is told, but the same thing only once a second: a server that flaps or a fault in every request
 * must not fill the disk. What was held back is told as a number at the end of the second. What every worker tells
 * (Redis is away) is told once.
 */
export class BoundedLog {
  readonly #pass: (entry: LogEntry) => void
  readonly #seen = new Map<string, Seen>()
  readonly #messages = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(pass: (entry: LogEntry) => void) {
    this.#pass = pass
  }

  write(entry: LogEntry): void {
    const seen = this.#seen.get(this.#keyOf(entry))
    if (seen === undefined) {
      this.#remember(entry)
      this.#pass(entry)
    } else if (entry.worker === undefined || seen.workers.has(entry.worker)) {
      seen.untold++
    } else {
      seen.workers.add(entry.worker)
    }
  }

  /** Tells how often things happened that were not told, and starts a new second. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const { entry, untold } of this.#seen.values()) {
      if (untold === 0) continue
      this.#pass({
        ...entry,
        message: `${entry.message} (and ${untold} more)`,
        fields: { ...entry.fields, more: untold },
      })
    }
    this.#seen.clear()
    this.#messages.clear()
  }

  /** Tells messages apart as long as they are few, and then counts all others of the event together. */
  #keyOf({ event, message }: LogEntry): string {
    const key = `${event} ${message}`
    if (this.#seen.has(key)) return key
    return (this.#messages.get(event) ?? 0) < MAX_MESSAGES ? key : event
  }

  #remember(entry: LogEntry): void {
    const key = this.#keyOf(entry)
    this.#seen.set(key, { entry, workers: new Set([entry.worker]), untold: 0 })
    this.#messages.set(entry.event, (this.#messages.get(entry.event) ?? 0) + 1)
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref()
  }
}
