import { type LineReader, type RequestSlots, readRequestLine, type Slots, slotOf } from './line-reader.ts'
import { Times } from './times.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
/** How deep objects and lists may be nested. */
const MAX_DEPTH = 64

/** Which members of an object are read: into which place, and with what rank among the sources of that place. */
export interface WantedMembers {
  readonly byName: Map<string, WantedMember>
}

interface WantedMember {
  slot: number
  rank: number
  below: WantedMembers | undefined
}

/** Makes the tree of the members that are wanted, from names with dots: `request.remote_ip`. */
export function wantedMembers(
  sources: readonly { readonly path: string; slot: number; rank: number }[],
): WantedMembers {
  const root: WantedMembers = { byName: new Map() }
  for (const { path, slot, rank } of sources) {
    // A member may have the dots in its name.
    put(root, [path], slot, rank)
    if (path.includes('.')) put(root, path.split('.'), slot, rank)
  }
  return root
}

function put(members: WantedMembers, [name = '', ...rest]: readonly string[], slot: number, rank: number): void {
  const known = members.byName.get(name) ?? { slot: -1, rank: 0, below: undefined }
  members.byName.set(name, known)
  if (rest.length > 0) {
    known.below ??= { byName: new Map() }
    put(known.below, rest, slot, rank)
  } else if (known.slot < 0) {
    known.slot = slot
    known.rank = rank
  }
}

/** What a position of a line had in the line before: logs write their members in one order. */
interface Expected {
  readonly name: string
  readonly member: WantedMember | undefined
}

/**
 * Reads lines that are JSON objects, without JSON.parse: only the members that are wanted become texts. A line that
 * ends early cannot be read.
 */
export class JsonLines implements LineReader {
  readonly #times = new Times()
  readonly #members: WantedMembers
  readonly #time: number
  readonly #request: number
  readonly #slots: RequestSlots
  readonly #expected: Expected[] = []
  readonly #ranks: Uint8Array
  #text = ''
  #at = 0
  #end = 0
  #values: string[] = []

  /** `slots` has a place for `time`, and `members` fills it. */
  constructor(slots: Slots, members: WantedMembers) {
    this.#members = members
    this.#time = slotOf(slots, 'time')
    this.#request = slotOf(slots, 'request')
    this.#slots = { method: slotOf(slots, 'method'), target: slotOf(slots, 'target') }
    this.#ranks = new Uint8Array(Math.max(...slots.values()) + 1)
  }

  read(text: string, start: number, end: number, values: string[]): number {
    this.#text = text
    this.#at = start
    this.#end = end
    this.#values = values
    this.#ranks.fill(255)
    if (!this.#skipSpaceTo(OPEN_OBJECT) || !this.#readObject(this.#members, true)) return Number.NaN
    this.#skipSpace()
    if (this.#at !== end) return Number.NaN
    const time = values[this.#time]
    if (this.#request >= 0) this.#splitRequest(values)
    return this.#times.read(time, 0, time.length)
  }

  #splitRequest(values: string[]): void {
    const { method, target } = this.#slots
    const request = values[this.#request]
    const isKnown = (method < 0 || values[method] !== '') && (target < 0 || values[target] !== '')
    if (!isKnown && request !== '') readRequestLine(request, 0, request.length, this.#slots, values)
  }

  #skipSpace(): void {
    while (this.#at < this.#end && this.#text.charCodeAt(this.#at) <= 0x20) this.#at++
  }

  /** Moves behind the next character, if it is that one. */
  #skipSpaceTo(code: number): boolean {
    let at = this.#at
    // Nearly always it is there.
    if (at < this.#end && this.#text.charCodeAt(at) === code) {
      this.#at = at + 1
      return true
    }
    while (at < this.#end && this.#text.charCodeAt(at) <= 0x20) at++
    if (at >= this.#end || this.#text.charCodeAt(at) !== code) {
      this.#at = at
      return false
    }
    this.#at = at + 1
    return true
  }

  /** Reads an object from behind its brace to behind the other one. */
  #readObject(members: WantedMembers, isTop: boolean): boolean {
    if (this.#skipSpaceTo(CLOSE_OBJECT)) return true
    for (let position = 0; ; position++) {
      if (!this.#skipSpaceTo(QUOTE)) return false
      const member = isTop ? this.#memberAt(position) : this.#memberHere(members)
      if (member === null || !this.#skipSpaceTo(COLON)) return false
      this.#skipSpace()
      if (!(member === undefined ? this.#skipValue() : this.#readValue(member))) return false
      if (this.#skipSpaceTo(COMMA)) continue
      return this.#skipSpaceTo(CLOSE_OBJECT)
    }
  }

  /** Like #memberHere for the members of the line itself. The name is compared with that of the line before. */
  #memberAt(position: number): WantedMember | undefined | null {
    const expected = this.#expected[position]
    if (expected !== undefined && this.#text.startsWith(expected.name, this.#at)) {
      this.#at += expected.name.length
      return expected.member
    }
    const start = this.#at
    const member = this.#memberHere(this.#members)
    if (member === null || position >= MAX_DEPTH) return member
    const name = Buffer.from(this.#text.slice(start, this.#at)).toString()
    this.#expected[position] = { name, member }
    return member
  }

  /** Reads the name of a member, from behind its first quote. Null: it does not end. */
  #memberHere(members: WantedMembers): WantedMember | undefined | null {
    const start = this.#at
    if (!this.#skipText()) return null
    return members.byName.get(this.#text.slice(start, this.#at - 1))
  }

  #readValue({ slot, rank, below }: WantedMember): boolean {
    const code = this.#text.charCodeAt(this.#at)
    if (code === OPEN_OBJECT && below !== undefined) {
      this.#at++
      return this.#readObject(below, false)
    }
    if (slot < 0) return this.#skipValue()
    if (code === OPEN_LIST) return this.#readFirst({ slot, rank, below })
    const start = this.#at
    if (!this.#skipValue()) return false
    if (code !== OPEN_OBJECT) this.#keep(slot, rank, code === QUOTE, start)
    return true
  }

  /** Reads a list: the first text of it is the value, as in headers of Caddy. */
  #readFirst({ slot, rank }: WantedMember): boolean {
    const listAt = this.#at
    this.#at++
    if (this.#skipSpaceTo(QUOTE)) {
      const start = this.#at - 1
      if (!this.#skipText()) return false
      this.#keep(slot, rank, true, start)
    }
    this.#at = listAt
    return this.#skipValue()
  }

  /** Keeps the value that was passed over last, if no better source of the field came before. */
  #keep(slot: number, rank: number, isText: boolean, start: number): void {
    if (rank >= this.#ranks[slot]) return
    const value = isText ? unescaped(this.#text.slice(start + 1, this.#at - 1)) : this.#text.slice(start, this.#at)
    if (value === undefined || value === '' || value === '-' || (!isText && value === 'null')) return
    this.#values[slot] = value
    this.#ranks[slot] = rank
  }

  #skipValue(): boolean {
    const code = this.#text.charCodeAt(this.#at)
    if (this.#at >= this.#end) return false
    if (code === QUOTE) {
      this.#at++
      return this.#skipText()
    }
    if (code === OPEN_OBJECT || code === OPEN_LIST) return this.#skipNested()
    return this.#skipWord()
  }

  /** Moves from behind a quote to behind the closing one. */
  #skipText(): boolean {
    for (let at = this.#text.indexOf('"', this.#at); at >= 0 && at < this.#end; at = this.#text.indexOf('"', at + 1)) {
      if (this.#text.charCodeAt(at - 1) !== BACKSLASH) {
        this.#at = at + 1
        return true
      }
      let escapes = 0
      while (at - 1 - escapes >= this.#at && this.#text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++
      if (escapes % 2 !== 0) continue
      this.#at = at + 1
      return true
    }
    return false
  }

  #skipNested(): boolean {
    let depth = 0
    while (this.#at < this.#end) {
      const code = this.#text.charCodeAt(this.#at++)
      if (code === QUOTE) {
        if (!this.#skipText()) return false
      } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
        if (++depth > MAX_DEPTH) return false
      } else if ((code === CLOSE_OBJECT || code === CLOSE_LIST) && --depth === 0) return true
    }
    return false
  }

  /** Moves behind a number, true, false or null. */
  #skipWord(): boolean {
    const start = this.#at
    while (this.#at < this.#end && isWord(this.#text.charCodeAt(this.#at))) this.#at++
    return this.#at > start
  }
}

function isWord(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x2d ||
    code === 0x2b ||
    code === 0x2e ||
    code === 0x45
  )
}

/** Undoes the escapes of a text. Undefined: they are wrong. Few texts have any. */
function unescaped(text: string): string | undefined {
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return undefined
  }
}
