const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const OPEN_LIST = 0x5b
const CLOSE_OBJECT = 0x7d
const CLOSE_LIST = 0x5d
const SPACE = 0x20

const Mode = { between: 0, text: 1, escape: 2, bare: 3 } as const

/** The longest key or value that is looked at. In escapes, a character has six bytes. */
const MAX_TOKEN_BYTES = 2_048
/** How many different values are remembered. */
const MAX_VALUES = 4

/**
 * Finds the values at one path of a JSON document that comes in pieces. Keeps a few numbers and one token, however long
 * and deep the document is, and looks at each byte once. If a name occurs twice, both values count: which of them a
 * parser takes is not known here.
 */
export class JsonScanner {
  readonly #path: readonly string[]
  readonly #token = Buffer.allocUnsafe(MAX_TOKEN_BYTES)
  #length = 0
  #mode: number = Mode.between
  /** How many containers are open. */
  #depth = 0
  /** How many of them, after the first, are on the path. */
  #matched = 0
  #lastText: string | undefined
  /** The key before the value that comes next is the one of the path. */
  #isNext = false
  #values: (string | number)[] = []

  constructor(path: string) {
    this.#path = path.split('.')
  }

  /** The texts and numbers that were found, each once; no more than four. */
  get values(): readonly (string | number)[] {
    return this.#values
  }

  /** The number that was found last. */
  get lastNumber(): number | undefined {
    return this.#values.findLast((value) => typeof value === 'number')
  }

  reset(): void {
    this.#length = 0
    this.#mode = Mode.between
    this.#depth = 0
    this.#matched = 0
    this.#lastText = undefined
    this.#isNext = false
    this.#values = []
  }

  push(bytes: Uint8Array, from = 0, to = bytes.length): void {
    let i = from
    while (i < to) {
      if (this.#mode === Mode.text) {
        i = this.#inText(bytes, i, to)
        continue
      }
      const byte = bytes[i++]
      if (this.#mode === Mode.escape) {
        this.#keep(byte)
        this.#mode = Mode.text
      } else if (this.#mode === Mode.bare && !isDelimiter(byte)) this.#keep(byte)
      else this.#between(byte)
    }
  }

  /** Says that the document is complete: a number at its very end has nothing behind it. */
  end(): void {
    if (this.#mode === Mode.bare) this.#bareEnded()
  }

  get #isLive(): boolean {
    return this.#depth === this.#matched + 1
  }

  /** Reads a text as far as it goes, and returns where it stopped. Most bytes of most documents are in texts. */
  #inText(bytes: Uint8Array, from: number, to: number): number {
    let end = from
    while (end < to && bytes[end] !== QUOTE && bytes[end] !== BACKSLASH) end++
    if (this.#isLive) for (let i = from; i < end && this.#length <= MAX_TOKEN_BYTES; i++) this.#keep(bytes[i])
    if (end === to) return end
    if (bytes[end] === BACKSLASH) {
      this.#mode = Mode.escape
      this.#keep(BACKSLASH)
    } else {
      this.#mode = Mode.between
      if (this.#isLive) this.#textEnded()
    }
    return end + 1
  }

  #between(byte: number): void {
    if (this.#mode === Mode.bare) this.#bareEnded()
    switch (byte) {
      case QUOTE:
        this.#length = 0
        this.#mode = Mode.text
        return
      case COLON:
        if (this.#isLive) this.#isNext = this.#lastText === this.#path[this.#matched]
        return
      case COMMA:
        if (this.#isLive) this.#isNext = false
        this.#lastText = undefined
        return
      case OPEN_OBJECT:
      case OPEN_LIST:
        this.#open(byte === OPEN_OBJECT)
        return
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        this.#close()
        return
      default:
        if (byte <= SPACE) return
        this.#length = 0
        this.#mode = Mode.bare
        this.#keep(byte)
    }
  }

  #open(isObject: boolean): void {
    if (isObject && this.#isLive && this.#isNext && this.#matched + 1 < this.#path.length) this.#matched++
    this.#isNext = false
    this.#lastText = undefined
    this.#depth++
  }

  #close(): void {
    if (this.#isLive && this.#matched > 0) this.#matched--
    this.#isNext = false
    this.#lastText = undefined
    if (this.#depth > 0) this.#depth--
  }

  get #isWanted(): boolean {
    return this.#isLive && this.#isNext && this.#matched === this.#path.length - 1
  }

  #textEnded(): void {
    const text = this.#length > MAX_TOKEN_BYTES ? undefined : unescaped(this.#token, this.#length)
    if (!this.#isWanted) this.#lastText = text
    else if (text !== undefined) this.#found(text)
  }

  #bareEnded(): void {
    this.#mode = Mode.between
    if (!this.#isWanted || this.#length > MAX_TOKEN_BYTES) return
    const value = Number(this.#token.toString('latin1', 0, this.#length))
    if (Number.isFinite(value)) this.#found(value)
  }

  #found(value: string | number): void {
    this.#isNext = false
    const known = this.#values.indexOf(value)
    if (known >= 0) this.#values.splice(known, 1)
    else if (this.#values.length === MAX_VALUES) this.#values.splice(1, 1)
    this.#values.push(value)
  }

  #keep(byte: number): void {
    if (this.#length < MAX_TOKEN_BYTES) this.#token[this.#length] = byte
    if (this.#length <= MAX_TOKEN_BYTES) this.#length++
  }
}

function isDelimiter(byte: number): boolean {
  return byte <= SPACE || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST || byte === COLON
}

function unescaped(token: Buffer, length: number): string | undefined {
  const raw = token.toString('utf8', 0, length)
  if (!raw.includes('\\')) return raw
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return undefined
  }
}
