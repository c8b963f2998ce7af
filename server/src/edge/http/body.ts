import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { SluiceError } from 'sluice/internal/core/errors'

const MOST_BYTES = 65_536
/** Up to here a body that is too large is read and thrown away: a client that still writes would not see the answer. */
const MOST_DISCARDED_BYTES = 1_048_576

/** readBody reads a request's body as UTF-8, up to 64 KiB. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= MOST_BYTES) chunks.push(chunk)
    else if (bytes > MOST_DISCARDED_BYTES) break
  }
  if (bytes > MOST_BYTES) throw new SluiceError('BODY_TOO_LARGE', 'body', `more than ${MOST_BYTES} bytes`)
  const body = Buffer.concat(chunks)
  // Decoding would turn every broken character into the same one, and so different callers into one.
  if (!isUtf8(body)) throw new SluiceError('REQUEST_INVALID', 'body', 'not UTF-8')
  return body.toString('utf8')
}
