import { SluiceError } from '../../../core/errors.ts'

export interface HostPort {
  readonly host: string
  readonly port: number
}

/** Where a Redis is, and how to get in. */
export interface RedisAddress {
  readonly kind: 'single' | 'sentinel' | 'cluster'
  readonly nodes: readonly HostPort[]
  /** sentinel: the name of the master. */
  readonly master: string | undefined
  readonly socketPath: string | undefined
  readonly tls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly database: number
  /** With TLS: what to trust and to show, where that is not what the machine has. */
  readonly certificates?: Certificates | undefined
  /** sentinel: how to get in there. */
  readonly sentinelCredentials?: Credentials | undefined
  /** Connections keep the process alive. Default: true. */
  readonly keepAlive?: boolean
}

export interface Credentials {
  readonly username: string | undefined
  readonly password: string
}

/** Certificates as PEM texts: which authority to trust and, where the server requires it, the client certificate. */
export interface Certificates {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  /** Returns what is wrong with the name in the server's certificate. Default: it is the host's. */
  readonly checkServerIdentity?: () => Error | undefined
}

const KINDS: ReadonlyMap<string, RedisAddress['kind']> = new Map([
  ['redis', 'single'],
  ['redis+sentinel', 'sentinel'],
  ['redis+cluster', 'cluster'],
])

/**
 * Reads
 *   redis://user:password@host:6379/0          rediss:// for TLS
 *   unix:///run/redis.sock
 *   redis+sentinel://host:26379,host:26379/mymaster
 *   redis+cluster://host:6379,host:6379
 * The s for TLS goes after redis: rediss+cluster://. Errors repeat nothing of it: what is wrong may be the password.
 */
export function parseRedisUrl(url: string): RedisAddress {
  const match = /^(unix|redis|rediss)(\+sentinel|\+cluster)?:\/\/(?:([^/]*)@)?([^/@]*)(?:\/(.*))?$/.exec(url)
  if (match === null) throw invalid('it does not begin with one of these')
  const [, scheme, suffix = '', credentials = '', hosts, path = ''] = match
  if (scheme !== 'unix' && path.includes('@')) throw invalid('a / in the user or password is not written as %2F')
  const [username, password] = credentialsOf(credentials)
  const common = { tls: scheme === 'rediss', username, password, database: 0, master: undefined, socketPath: undefined }
  if (scheme === 'unix') {
    if (hosts !== '') throw invalid('the path of a socket does not begin with /')
    return { ...common, kind: 'single', nodes: [], socketPath: `/${path}` }
  }
  const kind = KINDS.get(`redis${suffix}`) ?? 'single'
  const port = kind === 'sentinel' ? 26_379 : 6_379
  const nodes = hosts.split(',').map((text, i) => hostPort(text, port, i + 1))
  if (kind === 'sentinel') {
    const [master, database] = path.split('/')
    if (master === '') throw invalid('no master name behind the hosts')
    return { ...common, kind, nodes, master, database: databaseOf(database) }
  }
  return { ...common, kind, nodes, database: databaseOf(path) }
}

function credentialsOf(text: string): [username: string | undefined, password: string | undefined] {
  if (text === '') return [undefined, undefined]
  const colon = text.indexOf(':')
  if (colon < 0) return [undefined, decoded(text)]
  const username = decoded(text.slice(0, colon))
  return [username === '' ? undefined : username, decoded(text.slice(colon + 1))]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('a % in the user or password is not written as %25')
  }
}

function hostPort(text: string, fallback: number, number: number): HostPort {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text)
  if (match === null) throw invalid(`host ${number} is not host or host:port`)
  const port = match[2] === undefined ? fallback : Number(match[2])
  if (port > 65_535) throw invalid(`the port of host ${number} is above 65535`)
  return { host: match[1].replace(/^\[|\]$/g, ''), port }
}

function databaseOf(text: string | undefined): number {
  if (text === undefined || text === '') return 0
  if (!/^\d{1,3}$/.test(text)) throw invalid('the database is not a number from 0 to 999')
  return Number(text)
}

function invalid(detail: string): SluiceError {
  return new SluiceError('REDIS_URL_INVALID', 'redis', detail)
}
