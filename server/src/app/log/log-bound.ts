import type { LogEntry } from './log-entry.ts'

const WINDOW_MS = 1_000
/** How many different messages of one event are logged within a second. */
const MAX_MESSAGES = 10

interface Seen {
  readonly entry: LogEntry
  /** The workers that logged it: what all of them see is one event. */
  readonly workers: Set<number | undefined>
  suppressed: number
}

/**
 * Passes entries on, but the same entry only once a second: a server that flaps, or a fault in every request, must not
 * fill the disk. At the end of the second, one entry says how many were suppressed. What every worker logs (Redis is
 * unavailable) is logged once.
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
      seen.suppressed++
    } else {
      seen.workers.add(entry.worker)
    }
  }

  /** Logs how many entries were suppressed, and starts a new second. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const { entry, suppressed } of this.#seen.values()) {
      if (suppressed === 0) continue
      this.#pass({
        ...entry,
        message: `${entry.message} (and ${suppressed} more)`,
        fields: { ...entry.fields, more: suppressed },
      })
    }
    this.#seen.clear()
    this.#messages.clear()
  }

  /** Distinguishes messages while they are few; beyond that, counts all others of the event together. */
  #keyOf({ event, message }: LogEntry): string {
    const key = `${event} ${message}`
    if (this.#seen.has(key)) return key
    return (this.#messages.get(event) ?? 0) < MAX_MESSAGES ? key : event
  }

  #remember(entry: LogEntry): void {
    const key = this.#keyOf(entry)
    this.#seen.set(key, { entry, workers: new Set([entry.worker]), suppressed: 0 })
    this.#messages.set(entry.event, (this.#messages.get(entry.event) ?? 0) + 1)
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref()
  }
}
