/** How many characters may wait at most: about 2,000 lines. */
const MAX_WAITING = 1_048_576
const DELAY_MS = 100
/** How long a process that ends waits for its lines to be taken. */
const MAX_WAIT_MS = 1_000

/** Collects lines, and sends the lines of a tenth of a second as one text. It never grows beyond 1 MiB. */
export class LineQueue {
  readonly #send: (text: string) => Promise<void>
  #waiting = ''
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined

  /** `send` takes a text, and resolves when it may have the next. It never rejects. */
  constructor(send: (text: string) => Promise<void>) {
    this.#send = send
  }

  /** Takes a line, unless too many wait: then it returns false. */
  readonly write = (line: string): boolean => {
    if (this.#waiting.length + line.length > MAX_WAITING) return false
    this.#waiting += line
    if (this.#sending === undefined) this.#timer ??= setTimeout(() => this.#flush(), DELAY_MS).unref()
    return true
  }

  /** Sends the remaining lines, or gives up soon. */
  async close(): Promise<void> {
    let giveUp: NodeJS.Timeout | undefined
    const deadline = new Promise<void>((resolve) => {
      giveUp = setTimeout(resolve, MAX_WAIT_MS)
    })
    await Promise.race([this.#drain(), deadline])
    clearTimeout(giveUp)
    clearTimeout(this.#timer)
  }

  async #drain(): Promise<void> {
    while (this.#sending !== undefined || this.#waiting !== '') {
      if (this.#sending === undefined) this.#flush()
      await this.#sending
    }
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const text = this.#waiting
    this.#waiting = ''
    this.#sending = this.#send(text).finally(() => {
      this.#sending = undefined
      if (this.#waiting !== '') this.#timer ??= setTimeout(() => this.#flush(), DELAY_MS).unref()
    })
  }
}
