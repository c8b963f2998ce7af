import { createHmac } from 'node:crypto'
import type { SecretKeys } from './secret-keys.ts'

const LONGEST_PREFIX = 8

/** Returns the stored form of an API key: HMAC-SHA256 in hex. A reader of the database cannot use it. */
export function hashApiKey(secret: string, apiKey: string): string {
  return createHmac('sha256', secret).update(apiKey).digest('hex')
}

/** An ApiKeyHash hashes API keys under the key of the installation. */
export class ApiKeyHash {
  readonly #keys: SecretKeys
  #secret: string | undefined

  constructor(keys: SecretKeys) {
    this.#keys = keys
  }

  /** The secret that API keys are hashed under, for processes that have no database. */
  get secret(): string {
    this.#secret ??= this.#keys.keyFor('API keys').toString('hex')
    return this.#secret
  }

  hash(apiKey: string): string {
    return hashApiKey(this.secret, apiKey)
  }

  /** Returns the part that people see: the first 8 characters, and never more than a quarter of the key. */
  prefix(apiKey: string): string {
    const characters = [...apiKey]
    return characters.slice(0, Math.min(LONGEST_PREFIX, Math.floor(characters.length / 4))).join('')
  }
}
