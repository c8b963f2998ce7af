import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** A WebhookSecret signs until it ends. */
export interface WebhookSecret {
  readonly secret: string
  /** Undefined: it is the newest. */
  readonly endsAtMs: number | undefined
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Keeps the secrets of endpoints with AES-256-GCM: they are needed in clear to sign. What is sealed for one endpoint
 * cannot be opened as that of another.
 */
export class SealedSecrets {
  readonly #keyOf: () => Buffer

  /** `keyOf` returns 32 bytes, once the database is open. */
  constructor(keyOf: () => Buffer) {
    this.#keyOf = keyOf
  }

  seal(endpointId: string, secrets: readonly WebhookSecret[]): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#keyOf(), nonce).setAAD(Buffer.from(endpointId))
    const sealed = Buffer.concat([cipher.update(JSON.stringify(secrets), 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
  }

  /** Throws for a text that was not sealed with this key, for this endpoint. */
  open(endpointId: string, text: string): readonly WebhookSecret[] {
    const bytes = Buffer.from(text, 'base64')
    const decipher = createDecipheriv('aes-256-gcm', this.#keyOf(), bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(endpointId))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    const clear = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
    return JSON.parse(clear.toString('utf8'))
  }
}

/** Returns the secrets that sign now, the newest first. */
export function goodSecrets(secrets: readonly WebhookSecret[], nowMs: number): readonly string[] {
  return secrets.filter(({ endsAtMs }) => endsAtMs === undefined || endsAtMs > nowMs).map(({ secret }) => secret)
}
