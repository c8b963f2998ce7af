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
 * KeySpeller spells the counter keys of rules: secret values as a keyed hash with a short prefix, values longer than
 * 200 characters as a keyed hash, shared patterns (`share_threshold`) as the pattern.
 *
 * For a shared store it spells `sluice:{partition}:key`. The partition, a keyed hash of the caller, decides which server
 * a key lives on: all rules of one caller meet on one server, and no caller can choose which. A prefix goes before it.
 */
export class KeySpeller {
  readonly #hash: KeyedHash
  readonly #partitions: number
  /** What every key of a shared store begins with. */
  readonly #head: string

  /**
   * partitions is how many a shared store has; 0 for a store of one process, which needs none. prefix tells installations
   * that share a store apart.
   */
  constructor(hash: KeyedHash, partitions = 0, prefix = '') {
    this.#hash = hash
    this.#partitions = partitions
    this.#head = `${prefix}sluice:{`
  }

  /** spell returns the key of the counter that a rule keeps for these entries. */
  spell(domain: string, rule: Rule, entries: readonly Entry[]): string {
    const { path } = rule
    let spelled = entries
    for (let i = 0; i < path.length; i++) {
      const value = this.value(entries[i].value, path[i])
      if (value === entries[i].value) continue
      if (spelled === entries) spelled = entries.slice(0, path.length)
      ;(spelled as Entry[])[i] = { key: entries[i].key, value }
    }
    const key = counterKey(domain, rule.id, spelled.length === path.length ? spelled : spelled.slice(0, path.length))
    if (this.#partitions === 0) return key
    return `${this.#head}${this.#partition(domain, rule, entries)}}:${key}`
  }

  /** isShared says whether a text can be a key of the shared store that is spelled for. */
  isShared(key: string): boolean {
    return key.startsWith(this.#head)
  }

  /**
   * spellOwn is spell for a limit of an app's own. In memory its store holds nothing else, and a hash of the key is all that
   * is kept: a short spelling will do there. `position` tells the limits of one store apart.
   */
  spellOwn(domain: string, rule: Rule, entries: readonly Entry[], position: number): string {
    if (this.#partitions > 0) return this.spell(domain, rule, entries)
    const [{ key, value }] = entries
    return position === 0 ? `${key}:${value}` : `${position}:${key}:${value}`
  }

  /** #partition hashes the caller: the first entry whose pattern leaves the value open, or else the rule itself. */
  #partition(domain: string, rule: Rule, entries: readonly Entry[]): number {
    const caller = rule.path.findIndex(({ isOpen }) => isOpen)
    const text = caller < 0 ? `${domain} ${rule.id}` : `${entries[caller].key}=${entries[caller].value}`
    this.#hash.of(text, PARTITION_SPACE)
    return (this.#hash.low >>> 0) % this.#partitions
  }

  /** value spells one value the way it may be stored, logged and shown. */
  value(value: string, step: PathStep): string {
    if (step.sharedAs !== undefined) return step.secret ? `~${this.#digest(step.sharedAs)}` : step.sharedAs
    if (step.secret) return `${value.length < MIN_PREFIXED ? '' : value.slice(0, PREFIX)}~${this.#digest(value)}`
    // A value that looks like a hash is hashed as well, so that no caller can spell the counter of another.
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
