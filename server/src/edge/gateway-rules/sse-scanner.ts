import { JsonScanner } from './json-scanner.ts'

const LF = 0x0a
const CR = 0x0d
const DATA = Buffer.from('data:')

/**
 * SseScanner finds the number at a path in the data of the last server-sent event that has one. Events pass by; it keeps
 * one JsonScanner and one number.
 */
export class SseScanner {
  readonly #scanner: JsonScanner
  /** How much of `data:` the line has so far; −1 for another line, `DATA.length` within data. */
  #matched = 0
  #isLineEmpty = true
  #wasCr = false
  #last: number | undefined

  constructor(path: string) {
    this.#scanner = new JsonScanner(path)
  }

  get lastNumber(): number | undefined {
    return this.#last
  }

  push(bytes: Uint8Array): void {
    let from = -1
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]
      if (byte === LF || byte === CR) {
        if (from >= 0) this.#scanner.push(bytes, from, i)
        from = -1
        if (byte === CR || !this.#wasCr) this.#lineEnded()
      } else {
        this.#isLineEmpty = false
        if (this.#matched === DATA.length && from < 0) from = i
        else if (this.#matched >= 0 && this.#matched < DATA.length) {
          this.#matched = byte === DATA[this.#matched] ? this.#matched + 1 : -1
        }
      }
      this.#wasCr = byte === CR
    }
    if (from >= 0) this.#scanner.push(bytes, from)
  }

  /** end takes an event that nothing ended for one. */
  end(): void {
    this.#eventEnded()
  }

  #lineEnded(): void {
    if (this.#isLineEmpty) this.#eventEnded()
    this.#isLineEmpty = true
    this.#matched = 0
  }

  #eventEnded(): void {
    this.#scanner.end()
    this.#last = this.#scanner.lastNumber ?? this.#last
    this.#scanner.reset()
  }
}
