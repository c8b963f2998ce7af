import { type LineReader, type RequestSlots, readRequestLine, type Slots, slotOf } from './line-reader.ts'
import { Times } from './times.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const TIME_LENGTH = 26

/**
 * Reads nginx's `combined` format, Apache's, and `main`, which has X-Forwarded-For at the end: `addr - user [time]
 * "request" status bytes "referer" "user agent" "forwarded"`.
 */
export class NginxLines implements LineReader {
  readonly #times = new Times()
  readonly #slots: RequestSlots
  readonly #address: number
  readonly #user: number
  readonly #status: number
  readonly #referer: number
  readonly #userAgent: number
  readonly #forwarded: number

  constructor(slots: Slots) {
    this.#slots = { method: slotOf(slots, 'method'), target: slotOf(slots, 'target') }
    this.#address = slotOf(slots, 'address')
    this.#user = slotOf(slots, 'user')
    this.#status = slotOf(slots, 'status')
    this.#referer = slotOf(slots, 'referer')
    this.#userAgent = slotOf(slots, 'user_agent')
    this.#forwarded = slotOf(slots, 'forwarded_for')
  }

  read(text: string, start: number, end: number, values: string[]): number {
    const addressEnd = text.indexOf(' ', start)
    const userAt = text.indexOf(' ', addressEnd + 1) + 1
    const bracket = text.indexOf(' [', userAt - 1)
    const requestAt = bracket + TIME_LENGTH + 5
    if (addressEnd <= start || userAt <= 0 || bracket < userAt || requestAt >= end) return Number.NaN
    if (!text.startsWith('] "', requestAt - 3)) return Number.NaN
    const timeMs = this.#times.readClf(text, bracket + 2)
    const requestEnd = closingQuote(text, requestAt, end)
    if (requestEnd < 0 || !readRequestLine(text, requestAt, requestEnd, this.#slots, values)) return Number.NaN
    // A torn line ends before its status.
    const statusAt = requestEnd + 2
    if (statusAt + 3 > end || !isStatus(text, statusAt)) return Number.NaN
    if (this.#address >= 0) values[this.#address] = text.slice(start, addressEnd)
    if (this.#user >= 0) values[this.#user] = present(text, userAt, bracket)
    if (this.#status >= 0) values[this.#status] = text.slice(statusAt, statusAt + 3)
    if (this.#referer >= 0 || this.#userAgent >= 0 || this.#forwarded >= 0)
      this.#readQuoted(text, statusAt, end, values)
    return timeMs
  }

  #readQuoted(text: string, statusAt: number, end: number, values: string[]): void {
    let at = statusAt
    for (const slot of [this.#referer, this.#userAgent, this.#forwarded]) {
      const open = text.indexOf('"', at)
      const close = open < 0 || open >= end ? -1 : closingQuote(text, open + 1, end)
      if (close < 0) return
      if (slot >= 0) values[slot] = present(text, open + 1, close)
      at = close + 1
    }
  }
}

/** Returns where a quoted text ends, or -1. Quotes inside of it are escaped. */
export function closingQuote(text: string, from: number, end: number): number {
  for (let at = text.indexOf('"', from); at >= 0 && at < end; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH && at - escapes > from) escapes++
    if (escapes % 2 === 0) return at
  }
  return -1
}

/** Returns a text, or '' for the dash that stands for nothing. */
export function present(text: string, start: number, end: number): string {
  return end - start === 1 && text.charCodeAt(start) === 0x2d ? '' : text.slice(start, end)
}

function isStatus(text: string, at: number): boolean {
  if (text.charCodeAt(at - 1) !== 0x20 || text.charCodeAt(at - 2) !== QUOTE) return false
  const digit = text.charCodeAt(at)
  return digit >= 0x31 && digit <= 0x39
}
