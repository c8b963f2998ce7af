import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Turns texts into tokens that clients keep, and back. They are encrypted and authenticated (AES-256-GCM). */
export class SealedTexts {
  readonly #key: Buffer

  /** Tokens of one purpose are none of another. Without a secret, they are good in this process only. */
  constructor(purpose: string, secret?: string) {
    const base = secret === undefined ? randomBytes(KEY_BYTES) : `sluice ${secret}`
    this.#key = Buffer.from(hkdfSync('sha256', base, '', purpose, KEY_BYTES))
  }

  seal(text: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce)
    return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
      'base64url',
    )
  }

  /** Returns the text of a token, or undefined for what is none. */
  open(token: string): string | undefined {
    const bytes = Buffer.from(token, 'base64url')
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)).toString('utf8') + decipher.final('utf8')
    } catch {
      return undefined
    }
  }
}
