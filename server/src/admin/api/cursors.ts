import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'

const MAC_BYTES = 16
const MAX_CHARACTERS = 2_048

/**
 * Cursors encodes where a page begins so that clients can neither read nor make one: it is signed, together with the list and
 * the filter that it belongs to.
 */
export class Cursors {
  readonly #secret: Buffer

  constructor(secret: string | undefined) {
    this.#secret = createHmac('sha256', secret ?? randomBytes(32))
      .update('sluice admin cursor')
      .digest()
  }

  seal(after: string, list: string): string {
    const text = Buffer.from(after, 'utf8')
    return Buffer.concat([this.#sign(text, list), text]).toString('base64url')
  }

  /** read throws CURSOR_INVALID for what seal did not make for this list. */
  read(cursor: string, list: string): string {
    const bytes = cursor.length > MAX_CHARACTERS ? Buffer.alloc(0) : Buffer.from(cursor, 'base64url')
    const text = bytes.subarray(MAC_BYTES)
    const isOurs = bytes.length > MAC_BYTES && timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#sign(text, list))
    if (!isOurs) throw new SluiceError('CURSOR_INVALID', 'query.cursor', 'not one of ours, or of another list')
    return text.toString('utf8')
  }

  #sign(text: Buffer, list: string): Buffer {
    const mac = createHmac('sha256', this.#secret).update(`${list.length}:${list}`)
    return mac.update(text).digest().subarray(0, MAC_BYTES)
  }
}
