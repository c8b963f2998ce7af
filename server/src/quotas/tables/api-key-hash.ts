import { createHmac } from 'node:crypto'
import type { SecretKeys } from './secret-keys.ts'

const LONGEST_PREFIX = 8

/** An ApiKeyHash makes what is kept of an API key: who reads the database cannot use it. */
export class ApiKeyHash {
  readonly #key: Buffer

  constructor(keys: SecretKeys) {
    this.#key = keys.keyFor('API keys')
  }

  /** hash is HMAC-SHA256, in hex. */
  hash(apiKey: string): string {
    return createHmac('sha256', this.#key).update(apiKey).digest('hex')
  }

  /** prefix is what people see: the first 8 characters, and never more than a quarter of the key. */
  prefix(apiKey: string): string {
    const characters = [...apiKey]
    return characters.slice(0, Math.min(LONGEST_PREFIX, Math.floor(characters.length / 4))).join('')
  }
}
