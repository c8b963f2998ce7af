import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { got, SluiceError } from 'sluice/internal/core/errors'
import type { ProxyTrustOptions } from 'sluice/internal/core/identity/proxy-trust'
import { checkCompact, type KeyForm } from 'sluice/internal/core/key-form'
import { checkKeyPrefix } from 'sluice/internal/core/key-prefix'
import { LIMIT_OPTIONS } from 'sluice/internal/core/limit-options'
import type { FleetShedding, WorkerShedding } from 'sluice/internal/engine/load-shedder'
import { DEFAULT_HOT_KEY_LIMITS, type HotKeyLimits } from '../../observe/hot-keys/hot-key-alarm.ts'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import type { DatabasePlace } from '../../quotas/database/open-database.ts'
import { postgresAddress } from '../../quotas/database/postgres-address.ts'
import type { KafkaSettings } from '../../quotas/sinks/kafka-producer.ts'
import type { Compatibility } from './compatibility.ts'
import { ignoredWarnings, refuseUnsupported } from './envoy-settings.ts'
import { type FlagSpec, parseFlags } from './flags.ts'
import { misspelledVariables, refuseMisspelled } from './misspelled-variables.ts'
import { type TracesConfig, tracesOf } from './otel-settings.ts'
import { packageFile } from './package-file.ts'
import { redisUrlOf, redisWarnings } from './redis-settings.ts'
import { hasRemoteRules, isPath, type RemoteRulesConfig, remoteRulesOf, remoteRulesWarnings } from './remote-rules.ts'
import { SettingSources } from './setting-sources.ts'
import { type Address, type Given, isOn, type LogLevel, lastOf, pathsOf } from './setting-values.ts'
import { SETTINGS } from './settings.ts'
import { type AdminTokenSetting, adminTokensOf, tokensOf } from './tokens.ts'
import { isXdsWanted } from './xds-settings.ts'

/** A Config is everything `sluice serve` can be told. It is plain data: workers get it as a message. */
export interface Config {
  /** Rule files, and directories of them. */
  readonly rules: readonly string[]
  /** Rules that come from elsewhere. Where there are none either, nobody said where rules are. */
  readonly remoteRules: RemoteRulesConfig
  /** The rules are the examples that come with the package. */
  readonly isExample: boolean
  readonly mergeDomains: boolean
  readonly shadowMode: boolean
  /** The service whose answers are given instead of our own. */
  readonly compatibility: Compatibility | undefined
  /** There: a limit that refuses keeps the others of the request from counting. */
  readonly stopsWhenOverLimit: boolean
  /** Where counters are shared. Undefined: they live in this process. */
  readonly redisUrl: string | undefined
  readonly redisTimeoutMs: number
  /** What keys in Redis begin with. */
  readonly keyPrefix: string | undefined
  readonly keys: KeyForm
  readonly redisTls: RedisTls
  /** `password` or `user:password` of the sentinels. */
  readonly redisSentinelAuth: string | undefined
  /** Keys the hashes that all nodes agree on. */
  readonly secret: string | undefined
  /** Keys the tokens of leases where there is no secret: those of one service are good in all its workers. */
  readonly leaseSecret: string
  /** Callers show one of these, over HTTP and gRPC. None: anyone may call. */
  readonly tokens: readonly string[]
  /** Without tokens: anyone may give back and bring limits. */
  readonly trustCallers: boolean
  /** Where customers and their quotas are kept. Undefined: there are none. */
  readonly database: DatabasePlace | undefined
  /** Where a node keeps what does not come back with an older database. */
  readonly dataDir: string | undefined
  /** Which entries tell who is calling, for quotas. */
  readonly callerEntries: CallerEntries
  readonly host: string
  readonly httpPort: number
  readonly grpc: GrpcConfig
  readonly adminHost: string
  readonly adminPort: number
  /** Names that the admin port answers to, beside addresses, localhost and `adminHost`. */
  readonly adminNames: readonly string[]
  /** Tokens of the admin API, beside those in the database. */
  readonly adminTokens: readonly AdminTokenSetting[]
  /** /metrics needs no token. */
  readonly metricsOpen: boolean
  /** Customers see their own usage on the HTTP port. */
  readonly customerUsage: boolean
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
  /** Not healthy while there is no domain with rules. */
  readonly healthNeedsRules: boolean
  readonly metrics: MetricsConfig
  /** Undefined: counts are not sent anywhere. */
  readonly statsd: StatsdConfig | undefined
  readonly logLevel: LogLevel
  /** Undefined: text on a terminal, else json. */
  readonly logFormat: 'text' | 'json' | undefined
  /** Undefined: decisions are not logged. */
  readonly decisionLog: DecisionLogConfig | undefined
  /** Webhooks may go to private addresses. */
  readonly webhooksPrivate: boolean
  /** Undefined: the audit log goes to no file. */
  readonly auditFile: AuditFileConfig | undefined
  /** Undefined: the audit log does not go to Kafka. */
  readonly auditKafka: KafkaSettings | undefined
  /** Where this node runs. */
  readonly region: string | undefined
  /** Undefined: the environment does not ask for traces. */
  readonly traces: TracesConfig | undefined
  /** What its gateway is told. Undefined: there is none, and the service has its own doors instead. */
  readonly gateway: GatewayConfig | undefined
  readonly hotKeys: boolean
  readonly hotKeyLimits: HotKeyLimits
  readonly shedding: SheddingConfig
  /** What was said that has no effect. */
  readonly warnings: readonly string[]
}

/** GatewayConfig is what `sluice gateway` is told beside the settings of the service. It is plain data. */
export interface GatewayConfig {
  /** The routes file; undefined where flags say it all. */
  readonly file: string | undefined
  /** What flags say, in the form of a routes file. */
  readonly value: object | undefined
  readonly host: string
  readonly port: number
  readonly tls: GrpcTls | undefined
  readonly trust: ProxyTrustOptions | undefined
}

/** SheddingConfig says when requests are shed. */
export interface SheddingConfig {
  readonly worker: WorkerShedding
  /** Undefined: nobody knows what the fleet can take. */
  readonly fleet: FleetShedding | undefined
}

/** DecisionLogConfig says which decisions are logged, and where. */
export interface DecisionLogConfig {
  /** A path, or `stdout`. */
  readonly target: string
  readonly refusalsPerSecond: number
  readonly share: number
  readonly maxMib: number
  readonly files: number
}

/** AuditFileConfig is the file that the audit log goes to, too. */
export interface AuditFileConfig {
  readonly path: string
  readonly maxMib: number
  readonly files: number
}

export interface MetricsConfig {
  readonly isOn: boolean
  /** How many rules have series of their own. */
  readonly maxRules: number
  /** Where they are served beside the admin port. */
  readonly place: (Address & { readonly path: string }) | undefined
}

/** StatsdConfig is where counts are sent, and how: over TCP, or over UDP with tags that DogStatsD understands. */
export interface StatsdConfig {
  readonly host: string
  readonly port: number
  readonly isDog: boolean
  readonly intervalMs: number
  readonly tags: Readonly<Record<string, string>>
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

/** CommandFlags are the flags of a command that takes the settings. */
export interface CommandFlags {
  readonly name: string
  readonly specs: readonly FlagSpec[]
}

const SERVE: CommandFlags = { name: 'serve', specs: SETTINGS }

/** readConfig takes each setting from the flag, else the environment, else the config file, else its default. */
export function readConfig(args: readonly string[], env: Env, command: CommandFlags = SERVE): Config {
  const flags = parseFlags(command.name, command.specs, args)
  if (flags.rest.length > 0) throw new SluiceError('FLAG_UNKNOWN', command.name, got(flags.rest[0]))
  refuseMisspelled(env)
  refuseUnsupported(env)
  const from = new SettingSources(flags, env)
  const rules = from.given('rules') ?? (isXdsWanted(env) ? undefined : runtimeRules(env))
  const redis = from.given('redis')
  const redisUrl = redis && redisUrlOf(lastOf(redis), redis.where, env)
  const host = from.value('host')
  const remoteRules = remoteRulesOf(from, rules, env)
  const isAnywhere = rules !== undefined || hasRemoteRules(remoteRules)
  const hasExamples = from.value('examples') && !isAnywhere
  return {
    rules: rules === undefined ? (hasExamples ? [exampleRules()] : []) : pathsOf(rules).filter(isPath),
    isExample: hasExamples,
    remoteRules,
    mergeDomains: from.value('merge-domains'),
    shadowMode: from.value('shadow-mode'),
    compatibility: from.value('compatibility'),
    stopsWhenOverLimit: isSwitchedOn(env, 'STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT'),
    redisUrl,
    redisTimeoutMs: redisTimeoutOf(from),
    keyPrefix: keyPrefixOf(from),
    keys: keyFormOf(from),
    redisTls: redisTlsOf(from, env),
    redisSentinelAuth: env.REDIS_SENTINEL_AUTH || undefined,
    secret: from.value('secret'),
    leaseSecret: randomBytes(32).toString('hex'),
    tokens: tokensOf(from.given('token')),
    trustCallers: from.value('trust-callers'),
    database: databaseOf(from),
    dataDir: dataDirOf(from),
    callerEntries: {
      keys: from.value('api-key-entries'),
      customers: from.value('customer-entries'),
      addresses: from.value('address-entries'),
    },
    host,
    httpPort: from.value('http-port'),
    grpc: grpcOf(from, host),
    adminHost: from.value('admin-host'),
    adminPort: from.value('admin-port'),
    adminNames: from.value('admin-names') ?? [],
    adminTokens: adminTokensOf(from.given('admin-token')),
    metricsOpen: from.value('metrics-open'),
    customerUsage: from.value('customer-usage'),
    responseHeaders: responseHeadersOf(from),
    requestHeaders: requestHeadersOf(from),
    dynamicMetadata: from.value('dynamic-metadata'),
    unitMultipliers: from.value('unit-multipliers'),
    workers: workerCount(from, redisUrl !== undefined),
    workerTimeoutMs: from.value('worker-timeout'),
    drainDelayMs: from.value('drain-delay'),
    drainTimeoutMs: from.value('drain-timeout'),
    healthNeedsRedis: from.value('health-needs-redis'),
    healthNeedsRules: from.value('health-needs-rules'),
    metrics: metricsOf(from),
    statsd: statsdOf(from, env),
    logLevel: from.value('log-level'),
    logFormat: from.value('log-format'),
    decisionLog: decisionLogOf(from),
    webhooksPrivate: from.value('webhooks-private'),
    auditFile: auditFileOf(from),
    auditKafka: auditKafkaOf(from),
    region: from.value('region'),
    traces: tracesOf(env),
    gateway: undefined,
    hotKeys: from.value('hot-keys') === 'on',
    hotKeyLimits: hotKeyLimitsOf(from),
    shedding: sheddingOf(from),
    warnings: [
      ...ignoredWarnings(env),
      ...misspelledVariables(env),
      ...(redisUrl === undefined ? redisWarnings(env) : []),
      ...tlsWarnings(from),
      ...remoteRulesWarnings(remoteRules),
      ...trustWarnings(from),
      ...(redisUrl !== undefined && from.given('secret') === undefined ? [NO_SECRET] : []),
    ],
  }
}

const NO_SECRET = 'SLUICE_SECRET is not set: set it to the same text on every node (docs/redis.md)'

/** databaseOf is where quotas are kept: a database by its address, or else the data directory. Errors do not show an address. */
export function databaseOf(from: SettingSources): DatabasePlace | undefined {
  const [url, listenUrl, dataDir] = [from.value('database'), from.value('database-listen'), dataDirOf(from)]
  if (url === undefined) return dataDir === undefined ? undefined : { dataDir }
  for (const address of [url, listenUrl]) if (address !== undefined) postgresAddress(address)
  return { url, listenUrl }
}

export function dataDirOf(from: SettingSources): string | undefined {
  const given = from.value('data')
  return given === undefined ? undefined : resolve(given)
}

/** runtimeRules is where envoyproxy/ratelimit would look for rules, if the environment says so. */
function runtimeRules(env: Env): Given | undefined {
  const { RUNTIME_ROOT = '', RUNTIME_SUBDIRECTORY = '', RUNTIME_APPDIRECTORY } = env
  if (RUNTIME_ROOT === '') return undefined
  const path = join(RUNTIME_ROOT, RUNTIME_SUBDIRECTORY, RUNTIME_APPDIRECTORY || 'config')
  return { values: [path], where: 'RUNTIME_ROOT', source: 'env' }
}

/** redisTimeoutOf holds the deadline to what rules may have: without time, no decision would ever reach Redis. */
function redisTimeoutOf(from: SettingSources): number {
  const timeoutMs = from.value('redis-timeout')
  const { min, max } = LIMIT_OPTIONS.timeout_ms.schema
  if (timeoutMs >= min && timeoutMs <= max) return timeoutMs
  const { where = '--redis-timeout', values = [] } = from.given('redis-timeout') ?? {}
  throw new SluiceError('REDIS_TIMEOUT_INVALID', where, got(values.at(-1)))
}

export function keyPrefixOf(from: SettingSources): string | undefined {
  const given = from.given('key-prefix')
  return given && checkKeyPrefix(lastOf(given), given.where)
}

/** keyFormOf says how counters are named in Redis. */
export function keyFormOf(from: SettingSources): KeyForm {
  const form = from.value('keys')
  checkCompact(form, from.value('secret'), from.given('keys')?.where ?? '--keys')
  return form
}

export function redisTlsOf(from: SettingSources, env: Env): RedisTls {
  const name = 'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION'
  const value = env[name] ?? ''
  const [cert, key] = [from.given('redis-cert'), from.given('redis-key')]
  if (cert !== undefined && key === undefined)
    throw new SluiceError('TLS_INCOMPLETE', cert.where, '--redis-key is not given')
  if (key !== undefined && cert === undefined)
    throw new SluiceError('TLS_INCOMPLETE', key.where, '--redis-cert is not given')
  return {
    caFile: from.value('redis-ca'),
    certFile: from.value('redis-cert'),
    keyFile: from.value('redis-key'),
    anyHostName: value !== '' && isOn({ values: [value], where: name, source: 'env' }),
  }
}

/** sheddingOf says when requests are shed. Of times and counts, 0 would be a bound that is always reached. */
function sheddingOf(from: SettingSources): SheddingConfig {
  const capacity = from.value('shed-capacity')
  const latencyMs = from.value('shed-latency')
  const fleet = { mode: from.value('shed-fleet'), reserved: from.value('shed-reserved') }
  return {
    worker: {
      mode: from.value('shed-worker'),
      delayMs: Math.max(1, from.value('shed-delay')),
      inFlight: from.value('shed-in-flight'),
      latencyMs: latencyMs === 0 ? undefined : latencyMs,
      afterMs: from.value('shed-after'),
      overMs: Math.max(1, from.value('shed-over')),
    },
    fleet: capacity === undefined ? undefined : { ...fleet, capacity },
  }
}

const MAX_RULES = 1_000

function metricsOf(from: SettingSources): MetricsConfig {
  const path = from.value('prometheus-path')
  const place = { ...from.value('prometheus-address'), path: path.startsWith('/') ? path : `/${path}` }
  return {
    isOn: from.value('metrics') === 'on',
    maxRules: from.value('metrics-max-rules') ?? MAX_RULES,
    place: from.value('prometheus') ? place : undefined,
  }
}

/**
 * statsdOf says where counts are sent. In envoyproxy/ratelimit StatsD is on unless it is switched off; here it is off unless
 * somebody asks for it or says where it is.
 */
function statsdOf(from: SettingSources, env: Env): StatsdConfig | undefined {
  const isDog = from.value('dog-statsd')
  const isWanted = from.given('statsd') === undefined ? from.given('statsd-host') !== undefined : from.value('statsd')
  const config = {
    host: from.value('statsd-host') ?? 'localhost',
    port: statsdPortOf(from),
    isDog,
    // Without a pause, nothing else would ever be done.
    intervalMs: Math.max(MIN_STATSD_MS, from.value('statsd-interval')),
    tags: from.value('statsd-tags') ?? {},
  }
  return (isWanted || isDog) && !isSwitchedOn(env, 'DISABLE_STATS') ? config : undefined
}

/** statsdPortOf leaves out what Kubernetes sets by itself where there is a service of the name statsd: an address. */
function statsdPortOf(from: SettingSources): number {
  const given = from.given('statsd-port')
  const isLink = given?.source === 'env' && lastOf(given).startsWith('tcp://')
  return isLink ? STATSD_PORT : from.value('statsd-port')
}

const STATSD_PORT = 8_125

const MIN_STATSD_MS = 100

function isSwitchedOn(env: Env, name: string): boolean {
  const value = env[name] ?? ''
  return value !== '' && isOn({ values: [value], where: name, source: 'env' })
}

function grpcOf(from: SettingSources, host: string): GrpcConfig {
  return {
    host: from.value('grpc-host') ?? host,
    port: from.value('grpc-port'),
    socketPath: from.value('grpc-socket'),
    tls: from.value('grpc-tls') ? grpcTlsOf(from) : undefined,
    maxConnectionAgeMs: from.value('grpc-max-connection-age'),
    maxConnectionAgeGraceMs: from.value('grpc-max-connection-age-grace'),
    maxStreams: from.value('grpc-max-streams'),
    maxConnections: from.value('grpc-max-connections'),
    maxHeldMib: from.value('grpc-max-held'),
  }
}

function grpcTlsOf(from: SettingSources): GrpcTls {
  const certFile = from.value('grpc-tls-cert')
  const keyFile = from.value('grpc-tls-key')
  const clientCaFile = from.value('grpc-client-ca')
  const clientSan = from.value('grpc-client-san')
  const where = from.given('grpc-tls')?.where ?? '--grpc-tls'
  if (certFile === undefined) throw new SluiceError('TLS_INCOMPLETE', where, '--grpc-tls-cert is not given')
  if (keyFile === undefined) throw new SluiceError('TLS_INCOMPLETE', where, '--grpc-tls-key is not given')
  if (clientSan !== undefined && clientCaFile === undefined) {
    throw new SluiceError('TLS_INCOMPLETE', where, '--grpc-client-san is given, --grpc-client-ca is not')
  }
  return { certFile, keyFile, clientCaFile, clientSan }
}

/** tlsWarnings warns of a certificate that is given but not used. */
function tlsWarnings(from: SettingSources): string[] {
  const certificate = from.given('grpc-tls-cert')
  if (certificate === undefined || from.value('grpc-tls')) return []
  return [`${certificate.where} is given, but TLS of gRPC is off: --grpc-tls turns it on`]
}

/** trustWarnings warns of trust that a token makes superfluous. */
function trustWarnings(from: SettingSources): string[] {
  const trust = from.given('trust-callers')
  const token = from.given('token')
  if (trust === undefined || token === undefined || !from.value('trust-callers')) return []
  return [`${trust.where} changes nothing: ${token.where} is set, and whoever shows the token is trusted`]
}

/** responseHeadersOf reads the names even where they are switched off: a wrong one is told today, not when it is needed. */
function responseHeadersOf(from: SettingSources): LimitHeaders | undefined {
  const limit = from.value('limit-header')
  const remaining = from.value('remaining-header')
  const reset = from.value('reset-header')
  return from.value('response-headers') ? { limit, remaining, reset } : undefined
}

function requestHeadersOf(from: SettingSources): LimitHeaders | undefined {
  const limit = from.value('request-limit-header')
  const remaining = from.value('request-remaining-header')
  const reset = from.value('request-reset-header')
  return from.value('request-headers') ? { limit, remaining, reset } : undefined
}

/** decisionLogOf reads the numbers even where there is no log: a wrong one is told today, not when it is needed. */
function decisionLogOf(from: SettingSources): DecisionLogConfig | undefined {
  const target = from.value('decision-log')
  const refusalsPerSecond = from.value('decision-log-refusals') ?? 100
  const share = from.value('decision-log-share')
  const maxMib = from.value('decision-log-size') ?? 100
  const files = from.value('decision-log-files') ?? 5
  return target === undefined ? undefined : { target, refusalsPerSecond, share, maxMib, files }
}

function auditFileOf(from: SettingSources): AuditFileConfig | undefined {
  const path = from.value('audit-file')
  const maxMib = from.value('audit-file-size') ?? 100
  const files = from.value('audit-file-files') ?? 20
  return path === undefined ? undefined : { path, maxMib, files }
}

const BROKER = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$/

function auditKafkaOf(from: SettingSources): KafkaSettings | undefined {
  const text = from.value('audit-kafka')
  const topic = from.value('audit-kafka-topic')
  const isTls = from.value('audit-kafka-tls')
  const mechanism = from.value('audit-kafka-sasl')
  const username = from.value('audit-kafka-user')
  const password = from.value('audit-kafka-password') ?? ''
  if (text === undefined) return undefined
  const brokers = text.split(',').map((each) => each.trim())
  const wrong = brokers.find((each) => !BROKER.test(each))
  if (wrong !== undefined) {
    throw new SluiceError('AUDIT_KAFKA_INVALID', from.given('audit-kafka')?.where ?? '--audit-kafka', got(wrong))
  }
  return {
    brokers,
    topic,
    isTls,
    sasl: username === undefined ? undefined : { mechanism: mechanism.toUpperCase(), username, password },
  }
}

function workerCount(from: SettingSources, isShared: boolean): number {
  const count = from.value('workers')
  const given = from.given('workers')
  const isOne = given === undefined || lastOf(given) === '1'
  if (isShared || isOne) return count
  throw new SluiceError('WORKERS_NEED_REDIS', given.where, `${got(lastOf(given))}, and counters live in memory`)
}

function hotKeyLimitsOf(from: SettingSources): HotKeyLimits {
  const { share, minRequests, minOthers } = DEFAULT_HOT_KEY_LIMITS
  const percent = from.value('hot-key-share')
  return {
    share: percent === undefined ? share : percent / 100,
    minRequests: from.value('hot-key-min') ?? minRequests,
    minOthers,
  }
}

function exampleRules(): string {
  return fileURLToPath(packageFile('examples'))
}
