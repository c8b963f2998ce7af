import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * SealedTexts turns values into texts that clients keep, and back. They are encrypted and authenticated (AES-256-GCM): clients can
 * neither read them nor make one up, nor use one made for another purpose.
 */
export class SealedTexts {
  readonly #key: Buffer

  /** secret is what the nodes of a shared store agree on. Without one, texts are good in this process only. */
  constructor(purpose: string, secret?: string) {
    const base = secret === undefined ? randomBytes(KEY_BYTES) : `sluice ${secret}`
    this.#key = Buffer.from(hkdfSync('sha256', base, '', purpose, KEY_BYTES))
  }

  seal(value: unknown): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce)
    const sealed = [nonce, cipher.update(JSON.stringify(value), 'utf8'), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(sealed).toString('base64url')
  }

  /** open returns what was sealed. It calls `invalid` with what is wrong with a text, and throws what that returns. */
  open(text: string, invalid: (detail: string) => Error): unknown {
    const bytes = Buffer.from(text, 'base64url')
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) throw invalid('too short')
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      const json = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)).toString('utf8') + decipher.final('utf8')
      return JSON.parse(json)
    } catch {
      // What is authentic was written by a node, and parses.
      throw invalid('not one of ours')
    }
  }
}
