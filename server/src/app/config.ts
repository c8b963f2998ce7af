import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { readConfigFile } from './config-file.ts'
import { ENVOY_SETTINGS, ignoredWarnings } from './envoy-settings.ts'
import { type Flags, parseFlags } from './flags.ts'
import { nearest } from './nearest.ts'
import { redisUrlOf } from './redis-settings.ts'
import {
  choiceOf,
  countOf,
  durationOf,
  type Given,
  headerOf,
  isOn,
  type LogLevel,
  lastOf,
  levelOf,
  pathsOf,
  portOf,
  workersOf,
} from './setting-values.ts'
import { SETTINGS, type SettingName } from './settings.ts'

/** A Config is everything `sluice serve` can be told. It is plain data: workers get it as a message. */
export interface Config {
  /** Rule files, and directories of them. */
  readonly rules: readonly string[]
  /** The rules are the examples that come with the package. */
  readonly isExample: boolean
  readonly mergeDomains: boolean
  readonly shadowMode: boolean
  /** Where counters are shared. Undefined: they live in this process. */
  readonly redisUrl: string | undefined
  readonly redisTimeoutMs: number
  readonly redisTls: RedisTls
  /** `password` or `user:password` of the sentinels. */
  readonly redisSentinelAuth: string | undefined
  /** Keys the hashes that all nodes agree on. */
  readonly secret: string | undefined
  /** Keys the tokens of leases where there is no secret: those of one service are good in all its workers. */
  readonly leaseSecret: string
  readonly host: string
  readonly httpPort: number
  readonly grpc: GrpcConfig
  readonly adminHost: string
  readonly adminPort: number
  /** The fields that Envoy is asked to add to its answers, and to the requests that it passes on. */
  readonly responseHeaders: LimitHeaders | undefined
  readonly requestHeaders: LimitHeaders | undefined
  readonly dynamicMetadata: boolean
  readonly unitMultipliers: boolean
  readonly workers: number
  /** 0: workers may be silent for ever. */
  readonly workerTimeoutMs: number
  readonly drainDelayMs: number
  readonly drainTimeoutMs: number
  readonly healthNeedsRedis: boolean
  readonly logLevel: LogLevel
  /** Undefined: text on a terminal, else json. */
  readonly logFormat: 'text' | 'json' | undefined
  /** What was said that has no effect. */
  readonly warnings: readonly string[]
}

/** RedisTls names files. */
export interface RedisTls {
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly anyHostName: boolean
}

export interface GrpcConfig {
  readonly host: string
  readonly port: number
  /** A Unix socket instead of a port. */
  readonly socketPath: string | undefined
  readonly tls: GrpcTls | undefined
  /** 0: connections may last for ever. */
  readonly maxConnectionAgeMs: number
  readonly maxConnectionAgeGraceMs: number
  /** Undefined: as many as the server allows by itself. */
  readonly maxStreams: number | undefined
  readonly maxConnections: number | undefined
  readonly maxHeldMib: number | undefined
}

/** GrpcTls names files, and whom client certificates have to be made out to. */
export interface GrpcTls {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string | undefined
  readonly clientSan: string | undefined
}

/** LimitHeaders are the names of fields that tell about a limit. */
export interface LimitHeaders {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

type Env = NodeJS.ProcessEnv

/** readConfig takes each setting from the flag, else the environment, else the config file, else its default. */
export function readConfig(args: readonly string[], env: Env): Config {
  const flags = parseFlags('serve', SETTINGS, args)
  if (flags.rest.length > 0) throw new SluiceError('FLAG_UNKNOWN', 'serve', got(flags.rest[0]))
  const from = new Sources(flags, env)
  const rules = from.given('rules') ?? runtimeRules(env)
  const redis = from.given('redis')
  const redisUrl = redis && redisUrlOf(lastOf(redis), redis.where, env)
  const host = from.text('host') ?? '0.0.0.0'
  return {
    rules: rules === undefined ? [exampleRules()] : pathsOf(rules),
    isExample: rules === undefined,
    mergeDomains: from.isOn('merge-domains'),
    shadowMode: from.isOn('shadow-mode'),
    redisUrl,
    redisTimeoutMs: from.durationMs('redis-timeout', 5),
    redisTls: redisTlsOf(from, env),
    redisSentinelAuth: env.REDIS_SENTINEL_AUTH || undefined,
    secret: from.text('secret'),
    leaseSecret: randomBytes(32).toString('hex'),
    host,
    httpPort: from.port('http-port', 8080),
    grpc: grpcOf(from, host),
    adminHost: from.text('admin-host') ?? '127.0.0.1',
    adminPort: from.port('admin-port', 8082),
    responseHeaders: headersOf(from, 'response-headers', ['limit-header', 'remaining-header', 'reset-header']),
    requestHeaders: headersOf(from, 'request-headers', REQUEST_HEADERS),
    dynamicMetadata: from.isOn('dynamic-metadata'),
    unitMultipliers: from.isOn('unit-multipliers'),
    workers: workerCount(from, redisUrl !== undefined),
    workerTimeoutMs: from.durationMs('worker-timeout', 10_000),
    drainDelayMs: from.durationMs('drain-delay', 0),
    drainTimeoutMs: from.durationMs('drain-timeout', 10_000),
    healthNeedsRedis: from.isOn('health-needs-redis'),
    logLevel: from.read('log-level', levelOf) ?? 'info',
    logFormat: from.read('log-format', (given) => choiceOf(given, ['text', 'json'] as const)),
    warnings: [
      ...ignoredWarnings(env),
      ...misspelt(env),
      ...tlsWarnings(from),
      ...(redisUrl !== undefined && from.given('secret') === undefined ? [NO_SECRET] : []),
    ],
  }
}

const NO_SECRET = 'SLUICE_SECRET is not set: set it to the same text on every node (docs/redis.md)'

/** Sources is where settings come from: the command line before the environment before the config file. */
class Sources {
  readonly #flags: Flags
  readonly #env: Env
  readonly #file: ReadonlyMap<string, Given>

  constructor(flags: Flags, env: Env) {
    this.#flags = flags
    this.#env = env
    this.#file = new Map()
    const file = this.given('config')
    if (file !== undefined) this.#file = readConfigFile(lastOf(file))
  }

  given(name: SettingName): Given | undefined {
    if (this.#flags.has(name)) return { values: this.#flags.all(name), where: `--${name}`, source: 'flag' }
    for (const variable of VARIABLES.get(name) ?? []) {
      const value = this.#env[variable]
      if (value !== undefined && value !== '') return { values: [value], where: variable, source: 'env' }
    }
    return this.#file.get(name)
  }

  read<T>(name: SettingName, read: (given: Given) => T): T | undefined {
    const given = this.given(name)
    return given && read(given)
  }

  text(name: SettingName): string | undefined {
    return this.read(name, lastOf)
  }

  isOn(name: SettingName): boolean {
    return this.read(name, isOn) ?? false
  }

  port(name: SettingName, fallback: number): number {
    return this.read(name, portOf) ?? fallback
  }

  durationMs(name: SettingName, fallback: number): number {
    return this.read(name, durationOf) ?? fallback
  }
}

/** The variables of a setting: ours, then what envoyproxy/ratelimit calls it. */
const VARIABLES: ReadonlyMap<string, readonly string[]> = new Map(
  SETTINGS.map(({ flag, env }) => {
    const others = ENVOY_SETTINGS.filter(({ sets, name }) => sets === flag && name !== env)
    return [flag, [env, ...others.map(({ name }) => name)]]
  }),
)

/** runtimeRules is where envoyproxy/ratelimit would look for rules, if the environment says so. */
function runtimeRules(env: Env): Given | undefined {
  const { RUNTIME_ROOT = '', RUNTIME_SUBDIRECTORY = '', RUNTIME_APPDIRECTORY } = env
  if (RUNTIME_ROOT === '') return undefined
  const path = join(RUNTIME_ROOT, RUNTIME_SUBDIRECTORY, RUNTIME_APPDIRECTORY || 'config')
  return { values: [path], where: 'RUNTIME_ROOT', source: 'env' }
}

function redisTlsOf(from: Sources, env: Env): RedisTls {
  const name = 'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION'
  const value = env[name] ?? ''
  return {
    caFile: from.text('redis-ca'),
    certFile: from.text('redis-cert'),
    keyFile: from.text('redis-key'),
    anyHostName: value !== '' && isOn({ values: [value], where: name, source: 'env' }),
  }
}

function grpcOf(from: Sources, host: string): GrpcConfig {
  return {
    host: from.text('grpc-host') ?? host,
    port: from.port('grpc-port', 8081),
    socketPath: from.text('grpc-socket'),
    tls: from.isOn('grpc-tls') ? grpcTlsOf(from) : undefined,
    maxConnectionAgeMs: from.durationMs('grpc-max-connection-age', 24 * 3_600_000),
    maxConnectionAgeGraceMs: from.durationMs('grpc-max-connection-age-grace', 3_600_000),
    maxStreams: from.read('grpc-max-streams', countOf),
    maxConnections: from.read('grpc-max-connections', countOf),
    maxHeldMib: from.read('grpc-max-held', countOf),
  }
}

function grpcTlsOf(from: Sources): GrpcTls {
  const certFile = from.text('grpc-tls-cert')
  const keyFile = from.text('grpc-tls-key')
  const clientCaFile = from.text('grpc-client-ca')
  const clientSan = from.text('grpc-client-san')
  const where = from.given('grpc-tls')?.where ?? '--grpc-tls'
  if (certFile === undefined) throw new SluiceError('TLS_INCOMPLETE', where, '--grpc-tls-cert is not given')
  if (keyFile === undefined) throw new SluiceError('TLS_INCOMPLETE', where, '--grpc-tls-key is not given')
  if (clientSan !== undefined && clientCaFile === undefined) {
    throw new SluiceError('TLS_INCOMPLETE', where, '--grpc-client-san is given, --grpc-client-ca is not')
  }
  return { certFile, keyFile, clientCaFile, clientSan }
}

/** tlsWarnings: whoever names a certificate expects that it is used. */
function tlsWarnings(from: Sources): string[] {
  const certificate = from.given('grpc-tls-cert')
  if (certificate === undefined || from.isOn('grpc-tls')) return []
  return [`${certificate.where} is given, but TLS of gRPC is off: --grpc-tls turns it on`]
}

const REQUEST_HEADERS = ['request-limit-header', 'request-remaining-header', 'request-reset-header'] as const

/** headersOf reads the names even where they are switched off: a wrong one is told today, not when they are needed. */
function headersOf(from: Sources, isWanted: SettingName, names: readonly SettingName[]): LimitHeaders | undefined {
  const [limit, remaining, reset] = names.map((name) => from.read(name, headerOf))
  const headers = {
    limit: limit ?? 'RateLimit-Limit',
    remaining: remaining ?? 'RateLimit-Remaining',
    reset: reset ?? 'RateLimit-Reset',
  }
  return from.isOn(isWanted) ? headers : undefined
}

function workerCount(from: Sources, isShared: boolean): number {
  const given = from.given('workers')
  if (given === undefined) return 1
  const count = workersOf(given)
  const isOne = lastOf(given) === '1'
  if (isShared || isOne) return count
  throw new SluiceError('WORKERS_NEED_REDIS', given.where, `${got(lastOf(given))}, and counters live in memory`)
}

const OUR_VARIABLES = SETTINGS.map(({ env }) => env).filter((name) => name.startsWith('SLUICE_'))

/** misspelt warns of variables that look like ours. They are no error: Kubernetes sets SLUICE_PORT for a service. */
function misspelt(env: Env): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('SLUICE_') && !OUR_VARIABLES.includes(name as never))
    .flatMap((name) => {
      const meant = nearest(
        name.slice(7),
        OUR_VARIABLES.map((known) => known.slice(7)),
      )
      return meant === undefined ? [] : [`${name} is not a setting, did you mean SLUICE_${meant}?`]
    })
}

function exampleRules(): string {
  return fileURLToPath(new URL('../../examples', import.meta.url))
}
