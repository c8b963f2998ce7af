import { checkOptions } from '../../core/check-options.ts'
import { got, SluiceError } from '../../core/errors.ts'
import { type FormsOf, FUNCTION, TEXT } from '../../core/option-forms.ts'
import { HttpRedisClient, type HttpRedisOptions } from './http-client.ts'

export type { HttpRedisOptions } from './http-client.ts'

const FORMS: FormsOf<HttpRedisOptions> = { url: TEXT, token: TEXT, fetch: FUNCTION }

/** Limits with the same address and token share a client. */
const clients = new Map<string, HttpRedisClient>()

/** Returns the client of an address. A token goes over https, or to this machine. */
export function httpRedisClient(options: HttpRedisOptions): HttpRedisClient {
  checkOptions(options, FORMS)
  const { url, token, fetch } = options
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isLocal = parsed?.protocol === 'http:' && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(parsed.hostname)
  if (parsed === undefined || (parsed.protocol !== 'https:' && !isLocal) || parsed.username !== '') {
    throw new SluiceError('STORE_PLACE_INVALID', 'url', 'the address must be https://…, without a user')
  }
  if (typeof token !== 'string' || /[^\x21-\x7e]/.test(token)) {
    throw new SluiceError(
      'STORE_PLACE_INVALID',
      'token',
      token === undefined ? got(token) : 'it has other than visible ASCII characters',
    )
  }
  if (fetch !== undefined) return new HttpRedisClient(options)
  const name = `${token} ${parsed.href}`
  const client = clients.get(name) ?? new HttpRedisClient({ url: parsed.href, token })
  clients.set(name, client)
  return client
}
