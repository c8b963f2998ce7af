import type { KeyedHash } from 'sluice/internal/core/hash'
import { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { OPEN_PATH, SECRET_PATH } from 'sluice/internal/core/rules/rule-path'

/** Entries whose values are secret whatever the rules say: reports go further than the service's own log. */
const SECRET_NAME =
  /(^|[._-])(api[._-]?key|apikey|key|token|secret|password|passwd|authorization|auth|cookie|session|sessionid|credentials?|bearer|jwt|signature)($|[._-])/i

const [STEP] = OPEN_PATH
const [SECRET_STEP] = SECRET_PATH

/** Returns whether the values of an entry must not be shown. */
export function isSecretName(key: string): boolean {
  return SECRET_NAME.test(key)
}

/** Formats callers for reports: values of secret entries, and long ones, as a keyed hash. */
export class ShownCallers {
  readonly #keys: KeyEncoder

  constructor(hash: KeyedHash) {
    this.#keys = new KeyEncoder(hash)
  }

  get keys(): KeyEncoder {
    return this.#keys
  }

  /** Returns a function that formats the callers of one entry. `isSecret`: the rules say so. */
  of(key: string, isSecret: boolean): (value: string) => string {
    if (!isSecret && !isSecretName(key)) return (value) => `${key}=${this.#keys.value(value, STEP)}`
    return (value) => `${key}=${this.#keys.value(value, SECRET_STEP)}`
  }
}
