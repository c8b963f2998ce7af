/** Where a request carries its API key. */
export interface ApiKeyOptions {
  /** The field that carries the key. Default: `x-api-key`; false for none. */
  readonly header?: string | false
  /** Also take `Authorization: Bearer …`. Default: true. */
  readonly bearer?: boolean
  /** Also take this parameter of the query. Default: none: addresses end up in logs. */
  readonly query?: string
}

const MAX_KEY_CHARACTERS = 4_096
const MAX_KEYS = 8
const NO_KEYS: readonly string[] = []

/** How a request's fields are read: by lower-case name, several lines joined by `, `. */
export type ReadHeader = (name: string) => string | undefined

/**
 * Returns the API keys of a request, each once: a client may send several, and which one the app uses is not known
 * here. A value that is too long or has control characters is not a key. With more than eight, none counts.
 */
export function readApiKeys(options: ApiKeyOptions, header: ReadHeader, url: string): readonly string[] {
  const { header: name = 'x-api-key', bearer = true, query } = options
  const first = name === false ? undefined : valid(header(name))
  const second = bearer ? readBearer(header('authorization')) : undefined
  const more = query === undefined ? NO_KEYS : readQuery(url, query)
  if (more.length === 0) {
    if (first === undefined) return second === undefined ? NO_KEYS : [second]
    return second === undefined || second === first ? [first] : [first, second]
  }
  const keys = new Set([first, second, ...more.map(valid)])
  keys.delete(undefined)
  return keys.size > MAX_KEYS ? NO_KEYS : ([...keys] as string[])
}

/** Returns the token of `Authorization: Bearer …` (RFC 6750), or undefined. */
export function readBearer(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length < 8) return undefined
  if (authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined
  return valid(authorization.slice(7).trim())
}

function readQuery(url: string, name: string): readonly string[] {
  const mark = url.indexOf('?')
  return mark < 0 ? NO_KEYS : new URLSearchParams(url.slice(mark + 1).replace(/#.*/s, '')).getAll(name)
}

function valid(key: string | undefined): string | undefined {
  if (key === undefined || key.length === 0 || key.length > MAX_KEY_CHARACTERS) return undefined
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    if (code < 0x20 || code === 0x7f) return undefined
  }
  return key
}
