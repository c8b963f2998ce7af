import { got, SluiceError } from 'sluice/internal/core/errors'
import type { Upstream } from '../options.ts'

/** One address of an upstream. */
export interface Endpoint {
  readonly url: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly port: number
  /** Host and port, as in a URL. */
  readonly authority: string
  readonly tls: Upstream['tls']
}

export function readEndpoint(url: string, where: string, tls: Upstream['tls']): Endpoint {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const scheme = parsed?.protocol.slice(0, -1)
  const isPlain = parsed !== undefined && parsed.pathname === '/' && parsed.search === '' && parsed.username === ''
  if (parsed === undefined || !isPlain || (scheme !== 'http' && scheme !== 'https') || parsed.hash !== '') {
    throw new SluiceError('GATEWAY_OPTIONS_INVALID', where, `${got(url)}, expected http://host:port`)
  }
  const port = parsed.port === '' ? (scheme === 'https' ? 443 : 80) : Number(parsed.port)
  const host = parsed.hostname.replace(/^\[|\]$/g, '')
  return { url, scheme, host, port, authority: parsed.host, tls }
}
