import { decoded, escapeFault, resolved } from 'sluice/internal/http-door/request-path'

/** A path that is not in its simplest form, as it is forwarded and as routes are found by it. */
export interface PathReading {
  /** Without dot segments and empty ones; escapes in capitals, and none where RFC 3986 has a character as the same. */
  readonly sent: string
  /** Characters instead of escapes (but %2F, %5C and %25), without path parameters such as `;a=1`. */
  readonly exact: string
  /** The same with path parameters, where there are some: not every upstream knows them. */
  readonly literal: string | undefined
  /** It has %2F or %5C. */
  readonly hasEncodedSlash: boolean
}

/** Reads a path, or returns what upstreams would read in different ways. */
export function readPath(path: string): PathReading | string {
  const wrong = escapeFault(path)
  if (wrong !== undefined) return wrong
  const sent = resolved(decoded(path, 'wire'))
  const hasParameters = sent.includes(';')
  const hasEncodedSlash = sent.includes('%2F') || sent.includes('%5C')
  const segments = hasParameters || hasEncodedSlash ? sent.slice(1).split('/') : []
  if (segments.some(isOddSegment)) return 'dots, or nothing, next to an encoded slash or before a path parameter'
  const bare = hasParameters ? `/${segments.map(withoutParameters).join('/')}` : sent
  return {
    sent,
    exact: decoded(bare, 'text'),
    literal: hasParameters ? decoded(sent, 'text') : undefined,
    hasEncodedSlash,
  }
}

/** Returns whether a segment has dots or nothing where another reading would resolve it. */
function isOddSegment(segment: string): boolean {
  const parts = segment.replaceAll('%5C', '%2F').split('%2F')
  return parts.some((part) => {
    const name = withoutParameters(part)
    return (name === '' || name === '.' || name === '..') && (parts.length > 1 || name !== part)
  })
}

function withoutParameters(segment: string): string {
  const semicolon = segment.indexOf(';')
  return semicolon < 0 ? segment : segment.slice(0, semicolon)
}
