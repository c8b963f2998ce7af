import type { KeyedHash } from './hash.ts'
import { counterKey } from './keys.ts'
import type { Entry } from './request.ts'
import type { PathStep, Rule } from './rule.ts'

const MAX_VALUE = 200
const PREFIX = 4
const DIGEST = 16
const TILDE = 0x7e
/** A shorter secret shows no prefix: four characters would be too much of it. */
const MIN_PREFIXED = 16

/**
 * Encodes the counter keys of rules: secret values as a keyed hash with a short prefix, values longer than 200
 * characters as a keyed hash, shared patterns (`share_threshold`) as the pattern.
 *
 * For a shared store the form is `sluice:{partition}:key`. The partition, a keyed hash of the caller, decides which
 * server a key lives on: all rules of one caller meet on one server, and no caller can choose which. The key prefix
 * comes first.
 */
export class KeyEncoder {
  readonly #hash: KeyedHash
  readonly #partitions: number
  /** What every key of a shared store begins with. */
  readonly #head: string

  /**
   * `partitions` is how many a shared store has, or 0 for a store of one process, which needs none. `prefix` separates
   * installations that share a store.
   */
  constructor(hash: KeyedHash, partitions = 0, prefix = '') {
    this.#hash = hash
    this.#partitions = partitions
    this.#head = `${prefix}sluice:{`
  }

  /** Returns the key of the counter that a rule keeps for these entries. */
  encode(domain: string, rule: Rule, entries: readonly Entry[]): string {
    const { path } = rule
    let encoded = entries
    for (let i = 0; i < path.length; i++) {
      const value = this.value(entries[i].value, path[i])
      if (value === entries[i].value) continue
      if (encoded === entries) encoded = entries.slice(0, path.length)
      ;(encoded as Entry[])[i] = { key: entries[i].key, value }
    }
    const key = counterKey(domain, rule.id, encoded.length === path.length ? encoded : encoded.slice(0, path.length))
    if (this.#partitions === 0) return key
    return `${this.#head}${this.#partition(domain, rule, entries)}}:${key}`
  }

  /** Whether a text can be a key of this shared store. */
  isShared(key: string): boolean {
    return key.startsWith(this.#head)
  }

  /**
   * Like encode, for a limit of an app. Its store in memory holds nothing else and keeps only a hash of the key, so a
   * short form is enough there. `position` separates the limits of one store.
   */
  encodeOwn(domain: string, rule: Rule, entries: readonly Entry[], position: number): string {
    if (this.#partitions > 0) return this.encode(domain, rule, entries)
    const [{ key, value }] = entries
    return position === 0 ? `${key}:${value}` : `${position}:${key}:${value}`
  }

  /** Hashes the caller: the first entry whose pattern leaves the value open, or else the rule itself. */
  #partition(domain: string, rule: Rule, entries: readonly Entry[]): number {
    const caller = rule.path.findIndex(({ isOpen }) => isOpen)
    const text = caller < 0 ? `${domain} ${rule.id}` : `${entries[caller].key}=${entries[caller].value}`
    this.#hash.of(text, PARTITION_SPACE)
    return (this.#hash.low >>> 0) % this.#partitions
  }

  /** Encodes one value the way it may be stored, logged and shown. */
  value(value: string, step: PathStep): string {
    if (step.sharedAs !== undefined) return step.secret ? `~${this.#digest(step.sharedAs)}` : step.sharedAs
    if (step.secret) return `${value.length < MIN_PREFIXED ? '' : value.slice(0, PREFIX)}~${this.#digest(value)}`
    // A value that looks like a hash is hashed as well, so that no caller can produce the counter of another.
    const isHashed = value.length > MAX_VALUE || value.charCodeAt(value.length - DIGEST - 1) === TILDE
    return isHashed ? `${value.length}~${this.#digest(value)}` : value
  }

  #digest(value: string): string {
    this.#hash.of(value, SPACE)
    return hex(this.#hash.high) + hex(this.#hash.low)
  }
}

const SPACE = 0x5ec7e7
const PARTITION_SPACE = 0x9a7717

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
