import type { RuleSource } from 'sluice/internal/engine/rule-source'

/** A RuleSource at an address that may be unreachable. */
export interface RemoteSource extends RuleSource {
  figures(): SourceFigures
  /** Called when the first rules of all sources are in force. */
  started(): void
}

/** How current the rules of a source are. */
export interface SourceFigures {
  readonly name: string
  /** How long ago it was last known that the source says what is in force; since the start, where it never was. */
  readonly ageMs: number
  /** When that was, in milliseconds since 1970; 0 for never. */
  readonly lastGoodAtMs: number
  /** How often it could not be read, or what it said was refused. */
  readonly failures: number
}

/** Events of a RemoteSource. Rejected rules are reported by the code that rejects them. */
export interface SourceEvents {
  /** It cannot be read; called once for each new reason. Its last rules stay in force. */
  away?(name: string, reason: string): void
  /** It is read again. */
  back?(name: string): void
  /** The start waits for its rules, and why. */
  waiting?(name: string, reason: string): void
  /** The start uses rules of an earlier run, and why. */
  kept?(name: string, keptAtMs: number, reason: string): void
  /** The start continues without its rules, and why. */
  empty?(name: string, reason: string): void
}

/** Why a source could not be read. It never shows a credential. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault'
  /** The delay that it asked for. */
  readonly retryAfterMs: number

  constructor(reason: string, retryAfterMs = 0) {
    super(reason)
    this.retryAfterMs = retryAfterMs
  }
}

/** Keeps the figures of a source, and reports when it becomes unavailable and recovers. */
export class SourceHealth {
  readonly #name: string
  readonly #events: SourceEvents
  readonly #nowMs: () => number
  readonly #startedAtMs: number
  #lastGoodAtMs = 0
  #failures = 0
  #awayFor: string | undefined
  #isConnected = false

  constructor(name: string, events: SourceEvents, nowMs: () => number = Date.now) {
    this.#name = name
    this.#events = events
    this.#nowMs = nowMs
    this.#startedAtMs = nowMs()
  }

  /** Says that the source was asked, and says what is in force. */
  current(): void {
    this.#lastGoodAtMs = this.#nowMs()
  }

  /** Records whether a source that pushes is connected: while it is, its last rules are current. */
  connected(isConnected: boolean): void {
    if (this.#isConnected && !isConnected) this.current()
    this.#isConnected = isConnected
  }

  /** Says that the source was read, whatever becomes of what it said. */
  answered(): void {
    if (this.#awayFor === undefined) return
    this.#awayFor = undefined
    this.#events.back?.(this.#name)
  }

  refused(): void {
    this.#failures++
  }

  /** Counts a failure to read it. `isAsked`: a caller waits for an answer, so it is reported again. */
  away(reason: string, isAsked = false): void {
    this.#failures++
    if (this.#awayFor === reason && !isAsked) return
    this.#awayFor = reason
    this.#events.away?.(this.#name, reason)
  }

  figures(): SourceFigures {
    const lastGoodAtMs = this.#isConnected ? this.#nowMs() : this.#lastGoodAtMs
    const ageMs = Math.max(0, this.#nowMs() - (lastGoodAtMs || this.#startedAtMs))
    return { name: this.#name, ageMs, lastGoodAtMs, failures: this.#failures }
  }
}
