import type { IncomingMessage } from 'node:http'
import { got, SluiceError } from 'sluice/internal/core/errors'

/**
 * Throws when a web page of another site has a browser send the request: browsers report that in Sec-Fetch-Site, and
 * older ones in Origin. Programs send neither. Without this check, any page visited inside the network could spend
 * budgets here.
 */
export function requireOwnSite({ headers }: IncomingMessage): void {
  const { 'sec-fetch-site': site, origin, host } = headers
  if (site === 'cross-site' || site === 'same-site') {
    throw new SluiceError('CROSS_SITE_REQUEST', 'sec-fetch-site', `got "${site}"`)
  }
  if (origin !== undefined && !isOrigin(origin, host))
    throw new SluiceError('CROSS_SITE_REQUEST', 'origin', got(origin))
}

/** Returns whether pages of an origin come from a host. The scheme may differ: a proxy may have ended TLS. */
function isOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false
  const { protocol, host: pages } = new URL(origin)
  const ours = `${protocol}//${host}`
  return pages !== '' && URL.canParse(ours) && new URL(ours).host === pages
}

const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i

/**
 * Throws when a body is not sent as JSON. A page may send a form or plain text anywhere without being asked first; JSON
 * it may not.
 */
export function requireJson({ headers }: IncomingMessage, mayBeMissing: boolean): void {
  const type = headers['content-type']
  if (type === undefined ? mayBeMissing : JSON_TYPE.test(type)) return
  throw new SluiceError('CONTENT_TYPE_INVALID', 'content-type', type === undefined ? 'none' : got(type))
}
