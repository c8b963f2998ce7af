const MAX_CHARACTERS = 8_192

/**
 * Reads the `for` of every element of a Forwarded field (RFC 7239), in order; undefined where an element has none. A
 * field that is malformed, or longer than 8 KiB, yields an empty list: a quote that a client left open would otherwise
 * swallow what the proxies behind it added.
 */
export function forwardedFor(field: string): readonly (string | undefined)[] {
  if (field.length > MAX_CHARACTERS) return []
  const found: (string | undefined)[] = []
  const reader = new FieldReader(field)
  do {
    const element = reader.element()
    if (element === MALFORMED) return []
    found.push(element.node)
  } while (reader.takes(','))
  return reader.isAtEnd ? found : []
}

const MALFORMED = Symbol('malformed')

class FieldReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length
  }

  /** Reads `for=…;proto=…`, and the spaces around it. */
  element(): { readonly node: string | undefined } | typeof MALFORMED {
    let node: string | undefined
    do {
      this.#spaces()
      const name = this.#token()
      if (name === '') continue
      if (!this.takes('=')) return MALFORMED
      const value = this.#text[this.#at] === '"' ? this.#quoted() : this.#token()
      if (value === undefined || value === '') return MALFORMED
      if (name.toLowerCase() === 'for') {
        // Given twice, it is ambiguous.
        if (node !== undefined) return MALFORMED
        node = value
      }
      this.#spaces()
    } while (this.takes(';'))
    return { node }
  }

  takes(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #spaces(): void {
    while (this.#text[this.#at] === ' ' || this.#text[this.#at] === '\t') this.#at++
  }

  #token(): string {
    const start = this.#at
    while (this.#at < this.#text.length && !SEPARATORS.includes(this.#text[this.#at])) this.#at++
    return this.#text.slice(start, this.#at)
  }

  /** Reads a quoted string, or returns undefined when it does not end. */
  #quoted(): string | undefined {
    let value = ''
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at]
      if (character === '"') {
        this.#at++
        return value
      }
      if (character === '\\') this.#at++
      value += this.#text[this.#at] ?? ''
    }
    return undefined
  }
}

/** A token ends before these. Brackets and colons are let be: many proxies do not quote addresses. */
const SEPARATORS = ',;="\\ \t'
