import type { KeyedHash } from '../../../core/hash.ts'
import { globText } from './glob-text.ts'

/** Maps counter keys, as storedKey formats them, to their names in Redis. */
export interface StoredKeys {
  /** Names are hashes, and what is counted in windows is one number. */
  readonly isCompact: boolean
  of(encoded: string): string
  /** A pattern of Redis for the names of all counters of a domain, given as keys contain it. */
  patternOf(domain: string): string
}

/** Keys as they are formatted: `sluice:{17}:api|user|user=42|s1m`. */
export function readableKeys(keyPrefix: string): StoredKeys {
  return {
    isCompact: false,
    of: (encoded) => encoded,
    patternOf: (domain) => `${globText(keyPrefix)}sluice:{*}:${globText(domain)}|*`,
  }
}

const NAME = 'sluice:'
const DIGITS = Uint8Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', (digit) =>
  digit.charCodeAt(0),
)
const TILDE = 0x7e
const DOMAIN_SPACE = 0xd03a17
const COUNTER_SPACE = 0xc0137e

/**
 * Keyed hashes: `~`, 3 digits for the domain, 10 for the counter, of 6 bits each; before it the prefix and, on a
 * cluster, the partition's tag. With 14 bytes a key is in the second smallest class of Redis' allocators.
 *
 * Two of n counters of a domain share a name, and so a budget, with a chance of n² / 2^61: 1 in 2.3 million for a
 * million, 1 in 230 for a hundred million. Two domains are reset together with a chance of 1 in 262,144. Who does not
 * know the secret cannot look for either.
 */
export class CompactKeys implements StoredKeys {
  readonly isCompact = true
  readonly #hash: KeyedHash
  readonly #keyPrefix: string
  readonly #isTagged: boolean
  #lastDomain: string | undefined
  #lastDigits = 0

  /** Says whether names need the tag that chooses a server of a cluster. */
  constructor(hash: KeyedHash, keyPrefix: string, isTagged: boolean) {
    this.#hash = hash
    this.#keyPrefix = keyPrefix
    this.#isTagged = isTagged
  }

  of(encoded: string): string {
    const tagAt = this.#keyPrefix.length + NAME.length
    const tagEnd = encoded.indexOf('}', tagAt)
    const keyAt = tagEnd < 0 ? 0 : tagEnd + 2
    const domain = this.#domain(encoded.slice(keyAt, encoded.indexOf('|', keyAt)))
    this.#hash.of(encoded.slice(keyAt), COUNTER_SPACE)
    const { high, low } = this.#hash
    const name = String.fromCharCode(
      TILDE,
      digit(domain, 12),
      digit(domain, 6),
      digit(domain, 0),
      digit(high, 24),
      digit(high, 18),
      digit(high, 12),
      digit(high, 6),
      digit(high, 0),
      digit(low, 24),
      digit(low, 18),
      digit(low, 12),
      digit(low, 6),
      digit(low, 0),
    )
    if (this.#isTagged) return `${this.#keyPrefix}${encoded.slice(tagAt, tagEnd + 1)}${name}`
    return this.#keyPrefix === '' ? name : this.#keyPrefix + name
  }

  patternOf(domain: string): string {
    const digits = this.#domain(domain)
    const name = String.fromCharCode(TILDE, digit(digits, 12), digit(digits, 6), digit(digits, 0))
    const rest = '?'.repeat(COUNTER_DIGITS)
    return `${globText(this.#keyPrefix)}${this.#isTagged ? '{*}' : ''}${globText(name)}${rest}*`
  }

  /** Hashes a domain. Nearly always it is the one of the call before. */
  #domain(domain: string): number {
    if (domain !== this.#lastDomain) {
      this.#hash.of(domain, DOMAIN_SPACE)
      this.#lastDomain = domain
      this.#lastDigits = this.#hash.low
    }
    return this.#lastDigits
  }
}

const COUNTER_DIGITS = 10

/** Returns the code of one of 64 digits, of the six bits from a place on. */
function digit(word: number, from: number): number {
  return DIGITS[(word >>> from) & 0x3f]
}
