import type { Entry } from 'sluice/internal/core/request'
import type { DoorObserver } from './door-observer.ts'

/** An UnmatchedTold is one line about requests, or descriptors of them, that no rule is about. */
export interface UnmatchedTold {
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

/** Unmatched counts what no rule is about, and tells of it: the first at once, and then once a minute at the most. */
export class Unmatched implements DoorObserver {
  readonly #kinds: Readonly<Record<UnmatchedKind, UnmatchedOfKind>>

  constructor(tell: (told: UnmatchedTold) => void) {
    this.#kinds = {
      unknown_domain: new UnmatchedOfKind('unknown_domain', tell),
      no_rule: new UnmatchedOfKind('no_rule', tell),
    }
  }

  /** unmatched counts a descriptor without a rule, or a request of a domain without rules. It is on the hot path. */
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
  readonly #tell: (told: UnmatchedTold) => void
  #told = 0
  #first: Pick<UnmatchedTold, 'domain' | 'keys'> | undefined
  #quiet: NodeJS.Timeout | undefined

  constructor(kind: UnmatchedKind, tell: (told: UnmatchedTold) => void) {
    this.#kind = kind
    this.#tell = tell
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

  /** #speak tells what there is to tell, and then is quiet for a minute. */
  #speak(): void {
    this.#quiet = undefined
    if (this.#first === undefined) return
    const count = this.total - this.#told
    this.#told = this.total
    this.#tell({ kind: this.#kind, ...this.#first, count })
    this.#first = undefined
    this.#quiet = setTimeout(() => this.#speak(), QUIET_MS).unref()
  }
}

function short(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
}
