import { checkOptions } from '../../core/check-options.ts'
import { got, SluiceError } from '../../core/errors.ts'
import { type FormsOf, whole } from '../../core/option-forms.ts'
import type { CasPlace } from '../open/open-cas.ts'
import { MemcachedEngine, type MemcachedServer } from './memcached-engine.ts'
import type { MemcachedOptions } from './memcached-options.ts'

const FORMS: FormsOf<MemcachedOptions> = { timeoutMs: /* @__PURE__ */ whole(1, 60_000) }
const MAX_PORT = 65_535
const DEFAULT_PORT = 11_211

/** Returns the place that addresses name: `host:port`, or `host` alone for the port 11211. */
export function memcachedPlace(servers: string | readonly string[], options: MemcachedOptions): CasPlace {
  checkOptions(options, FORMS)
  const addresses = typeof servers === 'string' ? [servers] : servers
  if (!Array.isArray(addresses) || addresses.length === 0) {
    throw new SluiceError('STORE_PLACE_INVALID', 'memcached', got(servers))
  }
  const parsed = addresses.map(serverOf)
  // All limits of a process with the same servers share them, wherever they are named.
  return {
    identity: parsed.map(({ host, port }) => `${host}:${port}`).join(),
    variant: 'memcached',
    name: 'in Memcached',
    timeoutMs: options.timeoutMs,
    makeEngine: () => new MemcachedEngine(parsed),
  }
}

function serverOf(address: unknown): MemcachedServer {
  const url = typeof address === 'string' ? `tcp://${address}` : ''
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const port = Number(parsed?.port || DEFAULT_PORT)
  const isPlain = parsed !== undefined && parsed.hostname !== '' && /^\/?$/.test(parsed.pathname) && !parsed.username
  if (!isPlain || port > MAX_PORT || port === 0) {
    throw new SluiceError('STORE_PLACE_INVALID', 'memcached', `${got(address)}, expected host:port`)
  }
  return { host: parsed.hostname.replace(/^\[|\]$/g, ''), port }
}
