import { type LineReader, type RequestSlots, readRequestLine, type Slots, slotOf } from './line-reader.ts'
import { present } from './nginx-lines.ts'
import { Times } from './times.ts'

/**
 * Reads Envoy's default format: `[start] "method path protocol" code flags rx tx duration upstream-time "forwarded for"
 * "user agent" "request id" "authority" "upstream"`. Envoy escapes nothing: the authority is looked for from the end of
 * the line, behind what callers may write as they like.
 */
export class EnvoyLines implements LineReader {
  readonly #times = new Times()
  readonly #slots: RequestSlots
  readonly #forwarded: number
  readonly #userAgent: number
  readonly #host: number
  readonly #status: number

  constructor(slots: Slots) {
    this.#slots = { method: slotOf(slots, 'method'), target: slotOf(slots, 'target') }
    this.#forwarded = slotOf(slots, 'forwarded_for')
    this.#userAgent = slotOf(slots, 'user_agent')
    this.#host = slotOf(slots, 'host')
    this.#status = slotOf(slots, 'status')
  }

  read(text: string, start: number, end: number, values: string[]): number {
    const timeEnd = text.indexOf('] "', start)
    if (text.charCodeAt(start) !== 0x5b || timeEnd < 0 || timeEnd >= end) return Number.NaN
    const timeMs = this.#times.read(text, start + 1, timeEnd)
    const requestAt = timeEnd + 3
    // A path has no spaces, but may have quotes: the end of the request is where a status follows.
    const requestEnd = text.indexOf('" ', requestAt)
    if (requestEnd < 0 || requestEnd >= end) return Number.NaN
    if (!readRequestLine(text, requestAt, requestEnd, this.#slots, values)) return Number.NaN
    if (text.charCodeAt(end - 1) !== 0x22) return Number.NaN
    if (this.#status >= 0) values[this.#status] = text.slice(requestEnd + 2, text.indexOf(' ', requestEnd + 2))
    const forwardedAt = text.indexOf(' "', requestEnd + 2) + 2
    if (forwardedAt < 2 || forwardedAt > end) return Number.NaN
    const forwardedEnd = text.indexOf('"', forwardedAt)
    if (this.#forwarded >= 0) values[this.#forwarded] = present(text, forwardedAt, forwardedEnd)
    if (this.#host >= 0 || this.#userAgent >= 0) this.#readFromEnd(text, forwardedEnd + 3, end, values)
    return timeMs
  }

  /** Reads what stands before the upstream: the authority, and the user agent before the request's id. */
  #readFromEnd(text: string, from: number, end: number, values: string[]): void {
    const upstream = text.lastIndexOf(' "', end - 2)
    const authority = text.lastIndexOf(' "', upstream - 1)
    const requestId = text.lastIndexOf(' "', authority - 1)
    if (requestId < from) return
    if (this.#host >= 0) values[this.#host] = present(text, authority + 2, upstream - 1)
    if (this.#userAgent >= 0) values[this.#userAgent] = present(text, from, requestId - 1)
  }
}
