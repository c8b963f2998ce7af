import { JsonScanner } from './json-scanner.ts'

const LF = 0x0a
const CR = 0x0d
const DATA = Buffer.from('data:')

/**
 * Finds the number at a path in the data of the last server-sent event that has one. Events pass by; it keeps one
 * JsonScanner and one number.
 */
export class SseScanner {
  readonly #scanner: JsonScanner
  /** How much of `data:` the line has so far; −1 for another line, `DATA.length` within data. */
  #matched = 0
  #isLineEmpty = true
  #wasCr = false
  #last: number | undefined
  #hasData = false
  /** How many events with data have passed. */
  events = 0

  constructor(path: string) {
    this.#scanner = new JsonScanner(path)
  }

  get lastNumber(): number | undefined {
    return this.#last
  }

  push(bytes: Uint8Array): void {
    let i = 0
    while (i < bytes.length) {
      const byte = bytes[i]
      if (byte === LF || byte === CR) {
        if (byte === CR || !this.#wasCr) this.#lineEnded()
        this.#wasCr = byte === CR
        i++
      } else i = this.#inLine(bytes, i)
    }
  }

  /** Reads a line as far as it goes, and returns where it stopped. */
  #inLine(bytes: Uint8Array, from: number): number {
    this.#wasCr = false
    this.#isLineEmpty = false
    let i = from
    while (
      i < bytes.length &&
      this.#matched >= 0 &&
      this.#matched < DATA.length &&
      bytes[i] !== LF &&
      bytes[i] !== CR
    ) {
      this.#matched = bytes[i++] === DATA[this.#matched] ? this.#matched + 1 : -1
    }
    const start = i
    while (i < bytes.length && bytes[i] !== LF && bytes[i] !== CR) i++
    if (this.#matched === DATA.length) {
      this.#hasData = true
      this.#scanner.push(bytes, start, i)
    }
    return i
  }

  /** Takes an event that nothing ended for one. */
  end(): void {
    this.#eventEnded()
  }

  #lineEnded(): void {
    if (this.#isLineEmpty) this.#eventEnded()
    this.#isLineEmpty = true
    this.#matched = 0
  }

  #eventEnded(): void {
    if (this.#hasData) this.events++
    this.#hasData = false
    this.#scanner.end()
    this.#last = this.#scanner.lastNumber ?? this.#last
    this.#scanner.reset()
  }
}
