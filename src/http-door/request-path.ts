/** What of a path a router does not look at. */
export interface Routing {
  /** /Login is another path than /login. */
  readonly caseSensitive: boolean
  /** /login/ is another path than /login. */
  readonly strict: boolean
}

/** Where a framework leads a request to. */
export interface Route extends Routing {
  /** The route that was found, as the app wrote it, if it has no parameters; otherwise the path of the request. */
  readonly path: string
}

/** For unknown routers: many look at neither case nor a slash at the end. */
export const LOOSE: Routing = { caseSensitive: false, strict: false }

const [SLASH, DOT, PERCENT, BACKSLASH] = [0x2f, 0x2e, 0x25, 0x5c]
const SCHEME_END = '://'

/** Returns the path of a request's target: `/a` of `/a?b`, of `/a#b` and of `http://host/a`. */
export function targetPath(target: string): string {
  const start = target.charCodeAt(0) === SLASH ? 0 : pathStart(target)
  const query = target.indexOf('?', start)
  const fragment = target.indexOf('#', start)
  const end = query < 0 ? fragment : fragment < 0 ? query : Math.min(query, fragment)
  return (end < 0 ? (start === 0 ? target : target.slice(start)) : target.slice(start, end)) || '/'
}

/** Returns where the path begins behind `http://host`, or 0 for a target without scheme and host. */
function pathStart(target: string): number {
  const colon = target.indexOf(':')
  if (colon < 1 || !isScheme(target, colon)) return 0
  if (!isSlash(target.charCodeAt(colon + 1)) || !isSlash(target.charCodeAt(colon + 2))) return 0
  for (let i = colon + SCHEME_END.length; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (isSlash(code) || code === 0x3f || code === 0x23) return i
  }
  return target.length
}

function isScheme(target: string, end: number): boolean {
  for (let i = 0; i < end; i++) {
    const code = target.charCodeAt(i)
    const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a
    const isLater = (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2d || code === DOT
    if (!isLetter && (i === 0 || !isLater)) return false
  }
  return true
}

function isSlash(code: number): boolean {
  return code === SLASH || code === BACKSLASH
}

/** Bits of shapeOf. */
export const CAPITALS = 1
export const UNUSUAL = 2

/** Says in one pass whether a path has capitals, and whether it may be written in a simpler way. */
export function shapeOf(path: string): number {
  let shape = 0
  let before = 0
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code >= 0x41 && code <= 0x5a) shape |= CAPITALS
    else if (code === PERCENT || code === BACKSLASH || code === 0x3b || code >= 0x80) shape |= UNUSUAL
    else if (before === SLASH && (code === SLASH || code === DOT)) shape |= UNUSUAL
    before = code
  }
  return shape
}

/**
 * Returns the canonical form of a path, for matching and counting: characters instead of escapes, `\`, %2F and %5C as
 * slashes, no empty segments and none of dots. %25 stays, because %252F is not a slash. Case and a trailing slash are
 * kept where the router considers them. A path that is already canonical is returned as it is.
 */
export function canonicalPath(path: string, routing: Routing): string {
  const shape = shapeOf(path)
  return (shape & UNUSUAL) === 0
    ? routedPath(path, shape, routing)
    : routedPath(resolved(decoded(path, 'slashes')), CAPITALS, routing)
}

const NONE: readonly string[] = []

/**
 * Returns how else a router may read a path, as canonicalPath would return it: one may take dots, empty segments and
 * encoded slashes as they are (Express leads `/users/..` to `/users/:id`), another resolve dots and keep %2F.
 */
export function otherReadings(path: string, routing: Routing): readonly string[] {
  if ((shapeOf(path) & UNUSUAL) === 0) return NONE
  const canonical = canonicalPath(path, routing)
  const text = decoded(path, 'text')
  const literal = routedPath(text, CAPITALS, routing)
  const url = routedPath(resolved(text.replaceAll('\\', '/')), CAPITALS, routing)
  return [literal, ...(url === literal ? NONE : [url])].filter((each) => each !== canonical)
}

function routedPath(path: string, shape: number, { caseSensitive, strict }: Routing): string {
  const ended = strict ? path : withoutEnd(path)
  return caseSensitive || (shape & CAPITALS) === 0 ? ended : folded(ended)
}

/** Removes a slash at the end. */
export function withoutEnd(path: string): string {
  return path.length > 1 && path.charCodeAt(path.length - 1) === SLASH ? path.slice(0, -1) : path
}

/** Returns a text as everything that ignores case reads it: the Kelvin sign is a k, and ſ an s, to some. */
export function folded(text: string): string {
  const lower = text.toLowerCase()
  for (let i = 0; i < lower.length; i++) {
    if (lower.charCodeAt(i) >= 0x80) return lower.toUpperCase().toLowerCase()
  }
  return lower
}

/** Returns a path without empty segments and segments of dots. `..` above the root stays there. */
export function resolved(path: string): string {
  if (path.charCodeAt(0) !== SLASH) return path
  const segments: string[] = []
  let isFolder = true
  for (const segment of path.split('/')) {
    isFolder = segment === '' || segment === '.' || segment === '..'
    if (segment === '..') segments.pop()
    else if (!isFolder) segments.push(segment)
  }
  return segments.length === 0 ? '/' : `/${segments.join('/')}${isFolder ? '/' : ''}`
}

/**
 * What decoded makes of escapes. `wire`: characters where RFC 3986 has them as the same (unreserved ones). `text`: all
 * characters but slashes, %25 and control characters. `slashes`: as text, with slashes, which `\` is then, too.
 */
export type Decoding = 'wire' | 'text' | 'slashes'

/** Decodes escapes once. Escapes that are not UTF-8 stay, in capitals, and so does a `%` that begins none. */
export function decoded(path: string, how: Decoding): string {
  let text = ''
  let taken = 0
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code === BACKSLASH && how === 'slashes') {
      text += `${path.slice(taken, i)}/`
      taken = i + 1
    } else if (code === PERCENT) {
      const length = escapeLength(path, i)
      if (length === 0) continue
      text += path.slice(taken, i) + readEscape(path, i, length, how)
      taken = i + length
      i = taken - 1
    }
  }
  return taken === 0 ? path : text + path.slice(taken)
}

/** Returns the length of the escapes of one character: 3 for escapes that are not UTF-8, 0 without an escape. */
function escapeLength(path: string, at: number): number {
  const byte = byteAt(path, at)
  return byte < 0 ? 0 : byte < 0x80 ? 3 : Math.max(1, utf8Length(path, at, byte)) * 3
}

function readEscape(path: string, at: number, length: number, how: Decoding): string {
  const byte = byteAt(path, at)
  const text = path.slice(at, at + length)
  if (byte >= 0x80) {
    return how === 'wire' || utf8Length(path, at, byte) === 0 ? text.toUpperCase() : decodeURIComponent(text)
  }
  if (isSlash(byte)) return how === 'slashes' ? '/' : text.toUpperCase()
  const isKept = isControl(byte) || byte === PERCENT || (how === 'wire' && !isUnreserved(byte))
  return isKept ? text.toUpperCase() : String.fromCharCode(byte)
}

/** Returns the byte of the escape at a place, or −1 where there is none. */
function byteAt(path: string, at: number): number {
  if (path.charCodeAt(at) !== PERCENT) return -1
  const [high, low] = [hexDigit(path.charCodeAt(at + 1)), hexDigit(path.charCodeAt(at + 2))]
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** Returns how many escapes make the character that begins here, or 0: overlong forms are none (RFC 3629). */
function utf8Length(path: string, at: number, first: number): number {
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  for (let i = 1; i < length; i++) {
    const byte = byteAt(path, at + 3 * i)
    const [least, most] = i > 1 ? [0x80, 0xbf] : secondByte(first)
    if (byte < least || byte > most) return 0
  }
  return length
}

function secondByte(first: number): readonly [least: number, most: number] {
  if (first === 0xe0) return [0xa0, 0xbf]
  if (first === 0xed) return [0x80, 0x9f]
  if (first === 0xf0) return [0x90, 0xbf]
  return first === 0xf4 ? [0x80, 0x8f] : [0x80, 0xbf]
}

function isControl(byte: number): boolean {
  return byte < 0x20 || byte === 0x7f
}

function isUnreserved(byte: number): boolean {
  const lower = byte | 0x20
  const isAlphanumeric = (lower >= 0x61 && lower <= 0x7a) || (byte >= 0x30 && byte <= 0x39)
  return isAlphanumeric || byte === 0x2d || byte === DOT || byte === 0x5f || byte === 0x7e
}

/** Returns what is wrong with the escapes of a path, if programs read them in different ways. */
export function escapeFault(path: string): string | undefined {
  for (let i = path.indexOf('%'); i >= 0; i = path.indexOf('%', i)) {
    const byte = byteAt(path, i)
    if (byte < 0) return 'a % that begins no escape; send %25'
    if (isControl(byte)) return 'an escaped control character, such as %00'
    if (byte >= 0x80 && utf8Length(path, i, byte) === 0) return 'escapes that are not UTF-8'
    i += escapeLength(path, i)
  }
  return undefined
}

/** Returns the method that a request is counted as: handlers of GET also answer HEAD. */
export function canonicalMethod(method: string): string {
  const upper = method.toUpperCase()
  return upper === 'HEAD' ? 'GET' : upper
}
