/** Where a Terminal draws. */
export interface TerminalOutput {
  write(text: string): unknown
}

/** Where keys come from. */
export interface TerminalInput {
  readonly isTTY?: boolean | undefined
  setRawMode?(isRaw: boolean): unknown
  resume(): unknown
  pause(): unknown
  on(name: 'data', listener: (chunk: Buffer | string) => void): unknown
  off(name: 'data', listener: (chunk: Buffer | string) => void): unknown
}

// Alternate screen, no cursor, no wrapping; and back.
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
// A terminal with support for it shows the whole update in one step.
const BEGIN = '\u001b[?2026h\u001b[H'
const END = '\u001b[J\u001b[?2026l'
const REST_OF_LINE = '\u001b[K'

/** Draws whole screens in place, and leaves the terminal as it found it. */
export class Terminal {
  readonly #out: TerminalOutput
  readonly #input: TerminalInput
  readonly #pressed: (key: string) => void
  #isOpen = false

  /** Calls `pressed` for each key. Ctrl-C is `\u0003`. */
  constructor(out: TerminalOutput, input: TerminalInput, pressed: (key: string) => void) {
    this.#out = out
    this.#input = input
    this.#pressed = pressed
  }

  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#out.write(ENTER)
    if (this.#input.isTTY !== true) return
    this.#input.setRawMode?.(true)
    this.#input.on('data', this.#heard)
    this.#input.resume()
  }

  /** Replaces what is shown, line by line: nothing is cleared before it is drawn again, so that nothing flickers. */
  draw(lines: readonly string[]): void {
    if (this.#isOpen) this.#out.write(BEGIN + lines.map((line) => line + REST_OF_LINE).join('\r\n') + END)
  }

  /** Gives the terminal back. It may be called twice. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#out.write(LEAVE)
    if (this.#input.isTTY !== true) return
    this.#input.setRawMode?.(false)
    this.#input.off('data', this.#heard)
    this.#input.pause()
  }

  readonly #heard = (chunk: Buffer | string): void => {
    for (const key of String(chunk)) this.#pressed(key)
  }
}
