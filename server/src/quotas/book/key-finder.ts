import { TwoGenerations } from 'sluice/internal/core/two-generations'
import type { KeyRecord } from './records.ts'

/** The keyed hash that API keys are stored by: HMAC-SHA256 in hex. */
export type KeyHash = (key: string) => string

/** A longer text is no one's key: it is not hashed, and not kept. */
export const MAX_KEY_CHARACTERS = 256
/**
 * How many keys are remembered at least, and at most twice as many. They are keys that customers have: no stranger
 * fills it.
 */
const REMEMBERED_KEYS = 131_072
const REMEMBERED_STRANGERS = 4_096

/**
 * Finds the record of an API key by its value. A hash takes some 3 µs, so what it came to is remembered. Keys that no
 * one has are remembered apart: however many of them a stranger makes up, they push out only one another.
 */
export class KeyFinder {
  readonly #hash: KeyHash
  readonly #byHash = new Map<string, KeyRecord>()
  #known = new TwoGenerations<string, KeyRecord>(REMEMBERED_KEYS)
  #strangers = new TwoGenerations<string, true>(REMEMBERED_STRANGERS)

  #hasStrangers = false

  constructor(hash: KeyHash) {
    this.#hash = hash
  }

  get size(): number {
    return this.#byHash.size
  }

  /** Returns the record of a key that is good; undefined where no one has it, or it was revoked. */
  find(key: string): KeyRecord | undefined {
    const known = this.#known.get(key) ?? this.#lookUp(key)
    return known === undefined || known.isGone() ? undefined : known
  }

  #lookUp(key: string): KeyRecord | undefined {
    if (key.length > MAX_KEY_CHARACTERS || this.#strangers.get(key) === true) return undefined
    const found = this.#byHash.get(this.#hash(key))
    // A revoked key is known: it may be good again.
    if (found !== undefined) {
      found.seenAs = key
      this.#known.set(key, found)
      return found
    }
    this.#strangers.set(key, true)
    this.#hasStrangers = true
    return undefined
  }

  /** Files a record under its hash. A value that was unknown before may be its key. */
  put(record: KeyRecord): void {
    this.#byHash.set(record.hash, record)
    if (!this.#hasStrangers) return
    this.#strangers = new TwoGenerations(REMEMBERED_STRANGERS)
    this.#hasStrangers = false
  }

  /** Forgets a record, before its hash changes. It is not known which of the remembered keys led there. */
  remove(record: KeyRecord): void {
    if (this.#byHash.get(record.hash) !== record) return
    this.#byHash.delete(record.hash)
    record.seenAs = undefined
    this.#known = new TwoGenerations(REMEMBERED_KEYS)
  }
}
