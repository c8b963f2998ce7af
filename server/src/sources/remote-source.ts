import type { RuleSource } from 'sluice/internal/engine/rule-source'

/** A RemoteSource is a RuleSource at an address, which may be away. */
export interface RemoteSource extends RuleSource {
  figures(): SourceFigures
  /** started is told when the first rules of all sources are in force. */
  started(): void
}

/** SourceFigures say how current the rules of a source are. */
export interface SourceFigures {
  readonly name: string
  /** How long ago it was last known that the source says what is in force; since the start, where it never was. */
  readonly ageMs: number
  /** When that was, in milliseconds since 1970; 0 for never. */
  readonly lastGoodAtMs: number
  /** How often it could not be read, or what it said was refused. */
  readonly failures: number
}

/** SourceEvents is what a RemoteSource tells people. Rules that are refused are told by those who refuse them. */
export interface SourceEvents {
  /** away is told when it cannot be read, once for each reason in a row. What it said last stays in force. */
  away?(name: string, reason: string): void
  /** back is told when it is read again. */
  back?(name: string): void
  /** waiting is told when the start waits for its rules, and why. */
  waiting?(name: string, reason: string): void
  /** kept is told when the start goes by rules of an earlier run, and why. */
  kept?(name: string, keptAtMs: number, reason: string): void
  /** empty is told when the start goes on without its rules, and why. */
  empty?(name: string, reason: string): void
}

/** A SourceFault is why a source could not be read. It never shows a credential. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault'
  /** It asked to be left alone for so long. */
  readonly retryAfterMs: number

  constructor(reason: string, retryAfterMs = 0) {
    super(reason)
    this.retryAfterMs = retryAfterMs
  }
}

/** SourceHealth keeps the figures of a source, and tells when it goes and comes back. */
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

  /** current says that the source was asked, and says what is in force. */
  current(): void {
    this.#lastGoodAtMs = this.#nowMs()
  }

  /** connected says whether a source that speaks by itself would be heard: while it is, what it said last is current. */
  connected(isConnected: boolean): void {
    if (this.#isConnected && !isConnected) this.current()
    this.#isConnected = isConnected
  }

  /** answered says that the source was read, whatever becomes of what it said. */
  answered(): void {
    if (this.#awayFor === undefined) return
    this.#awayFor = undefined
    this.#events.back?.(this.#name)
  }

  refused(): void {
    this.#failures++
  }

  /** away counts a failure to read it. `isAsked`: somebody waits for an answer, and is told again. */
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
