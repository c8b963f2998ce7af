import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'

export const MAX_BYTES = 65_536
/** Up to here a body that is too large is read and thrown away: a client that still writes would not see the answer. */
const MAX_DISCARDED_BYTES = 1_048_576

/** More pieces are put together: a buffer of one byte takes a hundred. */
const MAX_CHUNKS = 64

/** A client has left before it had sent its request. It is not an error, and there is no one to answer. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft'
}

/** Reads the bodies of requests, and bounds what those take that are not complete. */
export class Bodies {
  readonly #mostBytes: number
  #heldBytes = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Reads a request's body as UTF-8, up to 64 KiB by default. Throws a ClientLeft if it never arrives completely. */
  async read(request: IncomingMessage, maxBytes = MAX_BYTES, tooLarge: ErrorCode = 'BODY_TOO_LARGE'): Promise<string> {
    let chunks: Buffer[] = []
    let bytes = 0
    let kept = 0
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        bytes += chunk.length
        if (bytes <= maxBytes) {
          chunks.push(chunk)
          if (chunks.length === MAX_CHUNKS) chunks = [Buffer.concat(chunks)]
          kept = bytes
          this.#hold(chunk.length)
        } else if (bytes > Math.max(MAX_DISCARDED_BYTES, 2 * maxBytes)) break
      }
    } catch (error) {
      throw error instanceof SluiceError || request.complete ? error : new ClientLeft('the request is not complete')
    } finally {
      this.#heldBytes -= kept
    }
    if (bytes > maxBytes) throw new SluiceError(tooLarge, 'body', `more than ${maxBytes} bytes`)
    return textOf(Buffer.concat(chunks))
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes
    if (this.#heldBytes > this.#mostBytes)
      throw new SluiceError('BODIES_TOO_MANY', 'body', 'too many bodies are in flight')
  }
}

function textOf(body: Buffer): string {
  // Decoding would turn every broken character into the same one, and so different callers into one.
  if (!isUtf8(body)) throw new SluiceError('REQUEST_INVALID', 'body', 'not UTF-8')
  return body.toString('utf8')
}
