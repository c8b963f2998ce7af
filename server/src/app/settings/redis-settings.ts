import { got, SluiceError } from 'sluice/internal/core/errors'
import { isOn } from './setting-values.ts'

/** What the environment sets for Redis in addition to its address, with the names of envoyproxy/ratelimit. */
type Env = NodeJS.ProcessEnv

/**
 * Makes one address from a setting: an address in Sluice's form, or host:port, a list of them or a path, as REDIS_TYPE
 * and REDIS_SOCKET_TYPE say. REDIS_AUTH and REDIS_TLS add what the address lacks.
 */
export function redisUrlOf(given: string, where: string, env: Env): string {
  const address = given.trim()
  const url = address.includes('://') ? address : schemed(address, where, env)
  return withAuth(withTls(url, env), env.REDIS_AUTH ?? '')
}

function schemed(address: string, where: string, env: Env): string {
  const type = typeOf(env)
  if (type === 'cluster') return `redis+cluster://${hostsOf(address)}`
  if (type === 'single') return isPath(address, env) ? `unix://${address}` : `redis://${hostsOf(address)}`
  const [master, ...sentinels] = address.split(',').map((part) => part.trim())
  if (sentinels.length === 0) {
    throw new SluiceError(
      'REDIS_URL_INVALID',
      where,
      'REDIS_TYPE is SENTINEL, but the value is not a list such as master,host:port,…',
    )
  }
  return `redis+sentinel://${sentinels.join(',')}/${master}`
}

/** Variables that describe a Redis, and mean nothing without its address. */
const NEEDS_URL = ['REDIS_TYPE', 'REDIS_AUTH', 'REDIS_TLS', 'REDIS_SOCKET_TYPE', 'REDIS_SENTINEL_AUTH']

/** Warns of variables that need an address where none is given. */
export function redisWarnings(env: Env): string[] {
  const idle = NEEDS_URL.filter((name) => (env[name] ?? '') !== '')
  if (idle.length === 0) return []
  return [`${idle.join(', ')}: no effect, because REDIS_URL is not set; counters live in this process alone`]
}

function typeOf(env: Env): 'single' | 'sentinel' | 'cluster' {
  const type = (env.REDIS_TYPE || 'single').toLowerCase()
  if (type === 'single' || type === 'sentinel' || type === 'cluster') return type
  throw new SluiceError('CHOICE_INVALID', 'REDIS_TYPE', `${got(type)}, expected single, sentinel or cluster`)
}

function isPath(address: string, env: Env): boolean {
  const type = (env.REDIS_SOCKET_TYPE ?? '').toLowerCase()
  if (type !== '' && type !== 'unix' && type !== 'tcp') {
    throw new SluiceError('CHOICE_INVALID', 'REDIS_SOCKET_TYPE', `${got(type)}, expected unix or tcp`)
  }
  return address.startsWith('/') || (type === 'unix' && !/:\d+$/.test(address))
}

function hostsOf(list: string): string {
  return list
    .split(',')
    .map((host) => host.trim())
    .join(',')
}

function withTls(url: string, env: Env): string {
  const { REDIS_TLS = '' } = env
  if (REDIS_TLS === '' || !isOn({ values: [REDIS_TLS], where: 'REDIS_TLS', source: 'env' })) return url
  return url.replace(/^redis(?=[+:])/, 'rediss')
}

/** Puts a password into an address that has none. */
function withAuth(url: string, auth: string): string {
  const [scheme, rest] = url.split('://', 2)
  if (auth === '' || rest.includes('@')) return url
  const { username = '', password } = credentialsOf(auth)
  return `${scheme}://${encodeURIComponent(username)}:${encodeURIComponent(password)}@${rest}`
}

/** Splits `user:password`. Without a colon all of it is the password. */
export function credentialsOf(auth: string): { readonly username: string | undefined; readonly password: string } {
  const colon = auth.indexOf(':')
  return colon < 0
    ? { username: undefined, password: auth }
    : { username: auth.slice(0, colon), password: auth.slice(colon + 1) }
}
