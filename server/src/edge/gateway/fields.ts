import { BELIEVED_FIELDS, isBelieved } from './believed-fields.ts'

/** Says what a gateway does with a field. */
export const Kind = {
  ordinary: 0,
  host: 1,
  length: 2,
  coding: 3,
  connection: 4,
  /** Goes from hop to hop, and never further. */
  hop: 5,
  upgrade: 6,
  expect: 7,
  te: 8,
  /** Says where a request came from: kept only if a trusted proxy sent it. */
  origin: 9,
  forwardedFor: 10,
  forwarded: 11,
  requestId: 12,
  date: 13,
  maxForwards: 14,
  cookie: 15,
  keepAlive: 16,
  trailer: 17,
} as const

const KINDS: ReadonlyMap<string, number> = new Map<string, number>([
  ['host', Kind.host],
  ['content-length', Kind.length],
  ['transfer-encoding', Kind.coding],
  ['connection', Kind.connection],
  ['keep-alive', Kind.keepAlive],
  ['proxy-connection', Kind.hop],
  ['http2-settings', Kind.hop],
  // CGI makes HTTP_PROXY of it, by which many libraries find a proxy.
  ['proxy', Kind.hop],
  ['upgrade', Kind.upgrade],
  ['expect', Kind.expect],
  ['te', Kind.te],
  ['trailer', Kind.trailer],
  ['x-forwarded-for', Kind.forwardedFor],
  ['forwarded', Kind.forwarded],
  ['x-forwarded-proto', Kind.origin],
  ['x-forwarded-host', Kind.origin],
  ['x-forwarded-port', Kind.origin],
  ...BELIEVED_FIELDS.map((name): [string, number] => [name, Kind.origin]),
  ['x-request-id', Kind.requestId],
  ['date', Kind.date],
  ['max-forwards', Kind.maxForwards],
  ['cookie', Kind.cookie],
])

/** Names that are common, in the two cases in which they come: looking them up is all the work they make. */
const COMMON = [
  ...KINDS.keys(),
  ...[
    'accept',
    'accept-encoding',
    'accept-language',
    'authorization',
    'cache-control',
    'content-type',
    'etag',
    'server',
  ],
  ...['user-agent', 'referer', 'origin', 'if-none-match', 'last-modified', 'vary', 'location', 'set-cookie', 'pragma'],
]
const KINDS_BY_NAME: ReadonlyMap<string, number> = new Map(
  COMMON.flatMap((name): [string, number][] => {
    const kind = KINDS.get(name) ?? Kind.ordinary
    const titled = name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
    return [
      [name, kind],
      [titled, kind],
    ]
  }),
)

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a value must not have
const CONTROLS = /[\u0000-\u0008\u000a-\u001f\u007f]/

/** Returns what is wrong with trailers: they come too late to say how a message is framed or where it goes. */
export function trailerFault({ kinds }: FieldSet): string | undefined {
  const isWrong = kinds.some((kind) => kind !== Kind.ordinary && kind !== Kind.date && kind !== Kind.origin)
  return isWrong ? 'a trailer says how the message is framed or where it goes' : undefined
}

/** Returns whether a text is a token of RFC 9110. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/**
 * The fields of a head or a trailer, in their order, with what a gateway has to know of them. Repeated fields stay
 * apart.
 */
export class FieldSet {
  /** Has name, value, name, value. */
  readonly list: string[] = []
  /** Has the Kind of each field. */
  readonly kinds: number[] = []
  hosts = 0
  host = ''
  lengths = 0
  length = ''
  codings = 0
  coding = ''
  connection: string | undefined
  upgrade: string | undefined
  expect: string | undefined
  te: string | undefined
  keepAlive: string | undefined
  hasDate = false

  /** Takes a field, or says what is wrong with it. */
  add(name: string, value: string): string | undefined {
    let kind = KINDS_BY_NAME.get(name)
    if (kind === undefined) {
      if (!TOKEN.test(name)) return 'a field name has other characters than RFC 9110 allows'
      kind = kindOf(name.toLowerCase())
    }
    if (CONTROLS.test(value)) return 'a field has control characters'
    this.list.push(name, value)
    this.kinds.push(kind)
    if (kind !== Kind.ordinary) this.#note(kind, value)
    return undefined
  }

  /** Returns the names, in lower case, that Connection says are for this hop only. */
  nominated(): readonly string[] | undefined {
    const { connection } = this
    if (connection === undefined || connection === '' || PLAIN_CONNECTION.test(connection)) return undefined
    return connection
      .toLowerCase()
      .split(',')
      .map((option) => option.trim())
  }

  /** Returns the first field of this name (in lower case). */
  value(name: string): string | undefined {
    const { list } = this
    for (let i = 0; i < list.length; i += 2) {
      const each = list[i] as string
      if (each.length === name.length && each.toLowerCase() === name) return list[i + 1]
    }
    return undefined
  }

  #note(kind: number, value: string): void {
    switch (kind) {
      case Kind.host:
        this.hosts++
        this.host = value
        return
      case Kind.length:
        this.lengths++
        this.length = value
        return
      case Kind.coding:
        this.codings++
        this.coding = value
        return
      case Kind.connection:
        this.connection = joined(this.connection, value)
        return
      case Kind.upgrade:
        this.upgrade = joined(this.upgrade, value)
        return
      case Kind.expect:
        this.expect = joined(this.expect, value)
        return
      case Kind.te:
        this.te = joined(this.te, value)
        return
      case Kind.keepAlive:
        this.keepAlive = value
        return
      case Kind.date:
        this.hasDate = true
    }
  }
}

/** The options of Connection that name no field other than fields that are always removed. */
const PLAIN_CONNECTION = /^(?:keep-alive|close|upgrade)$/i

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}

/**
 * Returns the kind of a name in lower case. What CGI and servers like it would read as a field of another kind goes:
 * x_forwarded_for is X-Forwarded-For to them, and to some x.forwarded.for too.
 */
export function kindOf(lower: string): number {
  const kind = KINDS.get(lower)
  if (kind !== undefined) return kind
  if (!ODD.test(lower)) return isBelieved(lower) ? Kind.origin : Kind.ordinary
  return kindOf(cgiName(lower)) === Kind.ordinary ? Kind.ordinary : Kind.hop
}

/** Returns a name in lower case with dashes for all that CGI makes the same sign of. */
export function cgiName(lower: string): string {
  return ODD.test(lower) ? lower.replace(ODDS, '-') : lower
}

const ODD = /[^a-z0-9-]/
const ODDS = /[^a-z0-9-]/g

/** Returns whether a comma-separated field has a word, whatever its case. */
export function hasOption(field: string | undefined, option: string): boolean {
  if (field === undefined) return false
  if (field.length === option.length) return field.toLowerCase() === option
  return field.split(',').some((each) => each.trim().toLowerCase() === option)
}
