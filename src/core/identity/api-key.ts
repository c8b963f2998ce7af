export interface ApiKeyOptions {
  /** The field that carries the key. Default: `x-api-key`; false for none. */
  readonly header?: string | false
  /** Also take `Authorization: Bearer …`. Default: true. */
  readonly bearer?: boolean
  /** Also take this parameter of the query. Default: none: addresses end up in logs. */
  readonly query?: string
}

const MAX_KEY_CHARACTERS = 4_096

/** How a request's fields are read: by lower-case name, several lines joined by `, `. */
export type ReadHeader = (name: string) => string | undefined

/** readApiKey returns the API key of a request, or undefined. What is too long or has control characters is no key. */
export function readApiKey(options: ApiKeyOptions, header: ReadHeader, url: string): string | undefined {
  const { header: name = 'x-api-key', bearer = true, query } = options
  return (
    (name === false ? undefined : valid(header(name))) ??
    (bearer ? readBearer(header('authorization')) : undefined) ??
    (query === undefined ? undefined : valid(readQuery(url, query)))
  )
}

/** readBearer returns the token of `Authorization: Bearer …` (RFC 6750), or undefined. */
export function readBearer(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length < 8) return undefined
  if (authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined
  return valid(authorization.slice(7).trim())
}

function readQuery(url: string, name: string): string | undefined {
  const mark = url.indexOf('?')
  return mark < 0 ? undefined : (new URLSearchParams(url.slice(mark + 1)).get(name) ?? undefined)
}

function valid(key: string | undefined): string | undefined {
  if (key === undefined || key.length === 0 || key.length > MAX_KEY_CHARACTERS) return undefined
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    if (code < 0x20 || code === 0x7f) return undefined
  }
  return key
}
