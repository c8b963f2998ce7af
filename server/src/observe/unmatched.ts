import type { Entry } from 'sluice/internal/core/request'
import type { DoorObserver } from './door-observer.ts'

/** One line about requests, or descriptors of them, that no rule matches. */
export interface UnmatchedReport {
  readonly kind: UnmatchedKind
  readonly domain: string
  /** The keys of the first that was like that. Never values: those are the callers' own. */
  readonly keys: readonly string[]
  /** How many there were since the last line. */
  readonly count: number
}

export type UnmatchedKind = 'unknown_domain' | 'no_rule'

const QUIET_MS = 60_000
const MAX_KEYS = 8
const MAX_CHARACTERS = 64

/** Counts what no rule matches, and reports it: the first immediately, then at most once a minute. */
export class Unmatched implements DoorObserver {
  readonly #kinds: Readonly<Record<UnmatchedKind, UnmatchedOfKind>>

  constructor(notify: (report: UnmatchedReport) => void) {
    this.#kinds = {
      unknown_domain: new UnmatchedOfKind('unknown_domain', notify),
      no_rule: new UnmatchedOfKind('no_rule', notify),
    }
  }

  /** Counts a descriptor without a rule, or a request of a domain without rules. It is on the hot path. */
  unmatched(domain: string, entries: readonly Entry[], isKnown: boolean): void {
    this.#kinds[isKnown ? 'no_rule' : 'unknown_domain'].add(domain, entries)
  }

  *list(): Iterable<readonly [name: string, value: number]> {
    for (const [kind, { total }] of Object.entries(this.#kinds)) yield [`sluice.unmatched.${kind}`, total]
  }

  stop(): void {
    for (const each of Object.values(this.#kinds)) each.stop()
  }
}

class UnmatchedOfKind {
  total = 0
  readonly #kind: UnmatchedKind
  readonly #notify: (report: UnmatchedReport) => void
  #notified = 0
  #first: Pick<UnmatchedReport, 'domain' | 'keys'> | undefined
  #quiet: NodeJS.Timeout | undefined

  constructor(kind: UnmatchedKind, notify: (report: UnmatchedReport) => void) {
    this.#kind = kind
    this.#notify = notify
  }

  add(domain: string, entries: readonly Entry[]): void {
    this.total++
    if (this.#first !== undefined) return
    this.#first = { domain: short(domain), keys: entries.slice(0, MAX_KEYS).map(({ key }) => short(key)) }
    if (this.#quiet === undefined) this.#speak()
  }

  stop(): void {
    clearTimeout(this.#quiet)
  }

  /** Reports what has been counted, and then pauses for a minute. */
  #speak(): void {
    this.#quiet = undefined
    if (this.#first === undefined) return
    const count = this.total - this.#notified
    this.#notified = this.total
    this.#notify({ kind: this.#kind, ...this.#first, count })
    this.#first = undefined
    this.#quiet = setTimeout(() => this.#speak(), QUIET_MS).unref()
  }
}

function short(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
}
