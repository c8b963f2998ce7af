import type { Http2Stream, ServerHttp2Stream } from 'node:http2'
import { Timer } from '../../../net/timer-wheel.ts'
import type { Host } from '../host.ts'

const NO_ERROR = 0
const CANCEL = 8
/** After an answer to a request that was not read to its end, at most this much more is read, or for this long. */
const LINGER_BYTES = 1_048_576
const LINGER_MS = 2_000

/** Streams that were reset here, and not by the other side. */
const resetByUs = new WeakSet<Http2Stream>()

/** Returns whether the end of a stream is none of the other side's doing. */
export function isResetByUs(stream: Http2Stream): boolean {
  return resetByUs.has(stream)
}

/**
 * Ends a stream immediately. node:http2 delays the end of a closed stream for its writes, which may never complete when
 * the other side does not read; so it is destroyed too.
 */
export function resetStream(stream: Http2Stream, code: number): void {
  if (stream.destroyed) return
  resetByUs.add(stream)
  stream.close(code)
  stream.destroy()
}

/** Reads on for a while after an answer: a client that is still sending has time to read it. */
export function lingerOn(stream: ServerHttp2Stream): void {
  let bytes = 0
  const cut = (): void => {
    if (!stream.destroyed) stream.close(NO_ERROR)
  }
  const timer = setTimeout(cut, LINGER_MS).unref()
  stream.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > LINGER_BYTES) cut()
  })
  stream.once('close', () => clearTimeout(timer))
  stream.resume()
}

/** Resets a stream whose answer is written when the client has not taken it after the time of an idle connection. */
export function boundEnd(stream: ServerHttp2Stream, { clock, wheel, bounds }: Host): void {
  const timer = new Timer(() => resetStream(stream, CANCEL))
  wheel.set(timer, clock.nowMs() + bounds.keepAliveMs)
  stream.once('close', () => wheel.clear(timer))
}
