import { got, SluiceError } from 'sluice/internal/core/errors'

export const DEFAULT_ADMIN = 'http://localhost:8082'

/** Reads the address of an admin port: `http://host:port`, or `host:port`. */
export function adminAddress(text: string): URL {
  const full = /^https?:\/\//.test(text) ? text : `http://${text}`
  const url = URL.canParse(full) ? new URL(full) : undefined
  if (url === undefined || url.username !== '' || url.password !== '' || url.search !== '') {
    throw new SluiceError('ADMIN_URL_INVALID', '--admin', got(text))
  }
  return url.pathname.endsWith('/') ? url : new URL(`${url.href}/`)
}
