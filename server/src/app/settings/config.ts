import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { got, SluiceError } from 'sluice/internal/core/errors'
import type { ProxyTrustOptions } from 'sluice/internal/core/identity/proxy-trust'
import type { KeyForm } from 'sluice/internal/core/key-form'
import { DEFAULT_HOT_KEY_LIMITS, type HotKeyLimits } from '../../observe/hot-keys/hot-key-alarm.ts'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import type { DatabasePlace } from '../../quotas/database/open-database.ts'
import type { KafkaSettings } from '../../quotas/sinks/kafka-producer.ts'
import type { Compatibility } from './compatibility.ts'
import { keyFormOf, keyPrefixOf, type RedisTls, redisTimeoutOf, redisTlsOf } from './counter-settings.ts'
import { databaseOf, dataDirOf, firstTokenFileOf } from './database-settings.ts'
import { ignoredWarnings, refuseUnsupported } from './envoy-settings.ts'
import { type FlagSpec, parseFlags } from './flags.ts'
import { type GrpcConfig, type GrpcTls, grpcOf, tlsWarnings } from './grpc-settings.ts'
import { type LimitHeaders, requestHeadersOf, responseHeadersOf } from './header-settings.ts'
import {
  type AuditFileConfig,
  auditFileOf,
  auditKafkaOf,
  type DecisionLogConfig,
  decisionLogOf,
} from './log-settings.ts'
import { type MetricsConfig, metricsOf, type StatsdConfig, statsdOf } from './metrics-settings.ts'
import { misspelledVariables, refuseMisspelled } from './misspelled-variables.ts'
import { type TracesConfig, tracesOf } from './otel-settings.ts'
import { packageFile } from './package-file.ts'
import { type PeersConfig, peersOf } from './peer-settings.ts'
import { redisUrlOf, redisWarnings } from './redis-settings.ts'
import { hasRemoteRules, isPath, type RemoteRulesConfig, remoteRulesOf, remoteRulesWarnings } from './remote-rules.ts'
import { SettingSources } from './setting-sources.ts'
import { type Given, isSwitchedOn, type LogLevel, lastOf, pathsOf } from './setting-values.ts'
import { SETTINGS } from './settings.ts'
import { type SheddingConfig, sheddingOf } from './shedding-settings.ts'
import { type AdminTokenSetting, adminTokensOf, tokensOf } from './tokens.ts'
import { isXdsWanted } from './xds-settings.ts'

/** All settings of `sluice serve`. It is plain data: workers receive it as a message. */
export interface Config {
  /** Rule files, and directories of them. */
  readonly rules: readonly string[]
  /** Remote rules. Without these and files, no rules are configured. */
  readonly remoteRules: RemoteRulesConfig
  /** Whether the rules are the examples that come with the package. */
  readonly isExample: boolean
  readonly mergeDomains: boolean
  readonly shadowMode: boolean
  /** The service whose answers are given instead of Sluice's. */
  readonly compatibility: Compatibility | undefined
  /** Whether a limit that refuses keeps the request's other limits from counting. */
  readonly stopsWhenOverLimit: boolean
  /** Where counters are shared. Undefined: they live in this process. */
  readonly redisUrl: string | undefined
  /** Where counters are kept by nodes together. */
  readonly peers: PeersConfig | undefined
  readonly redisTimeoutMs: number | undefined
  /** What keys in Redis begin with. */
  readonly keyPrefix: string | undefined
  readonly keys: KeyForm
  readonly redisTls: RedisTls
  /** `password` or `user:password` of the sentinels. */
  readonly redisSentinelAuth: string | undefined
  /** Keys the hashes that all nodes agree on. */
  readonly secret: string | undefined
  /** Keys the tokens of leases where there is no secret: a service's tokens are valid in all its workers. */
  readonly leaseSecret: string
  /** Callers present one of these, over HTTP and gRPC. None: anyone may call. */
  readonly tokens: readonly string[]
  /** Without tokens: anyone may refund and set limits. */
  readonly trustCallers: boolean
  /** Where customers and their quotas are kept. Undefined: there are none. */
  readonly database: DatabasePlace | undefined
  /** Where a node keeps what must survive when an older database is restored. */
  readonly dataDir: string | undefined
  /** Where the first token of the admin API is written. Undefined: no node makes one. */
  readonly firstTokenFile: string | undefined
  /** How long a node waits for the records of its database before it takes requests without them. */
  readonly readyWithinMs: number
  /** Which entries identify the caller, for quotas. */
  readonly callerEntries: CallerEntries
  readonly host: string
  readonly httpPort: number
  readonly grpc: GrpcConfig
  readonly adminHost: string
  readonly adminPort: number
  /** Names that the admin port accepts, in addition to addresses, localhost and `adminHost`. */
  readonly adminNames: readonly string[]
  /** Undefined: it is called by its host and admin port. */
  readonly nodeName: string | undefined
  /** Tokens of the admin API, in addition to those in the database. */
  readonly adminTokens: readonly AdminTokenSetting[]
  /** /metrics needs no token. */
  readonly metricsOpen: boolean
  /** Whether /stats, /rlconfig and the busiest keys need no token. */
  readonly statsOpen: boolean
  /** Whether customers see their own usage on the HTTP port. */
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
  /** Whether a node is unhealthy while no domain has rules. */
  readonly healthNeedsRules: boolean
  readonly metrics: MetricsConfig
  /** Undefined: counts are not sent anywhere. */
  readonly statsd: StatsdConfig | undefined
  readonly logLevel: LogLevel
  /** Undefined: text on a terminal, else json. */
  readonly logFormat: 'text' | 'json' | undefined
  /** Undefined: decisions are not logged. */
  readonly decisionLog: DecisionLogConfig | undefined
  /** Whether webhooks may go to private addresses. */
  readonly webhooksPrivate: boolean
  /** Undefined: the audit log goes to no file. */
  readonly auditFile: AuditFileConfig | undefined
  /** Undefined: the audit log does not go to Kafka. */
  readonly auditKafka: KafkaSettings | undefined
  /** Where this node runs. */
  readonly region: string | undefined
  /** Undefined: the environment does not ask for traces. */
  readonly traces: TracesConfig | undefined
  /** The settings of the gateway. Undefined: there is none, and the service has its usual doors. */
  readonly gateway: GatewayConfig | undefined
  readonly hotKeys: boolean
  readonly hotKeyLimits: HotKeyLimits
  readonly shedding: SheddingConfig
  /** Settings that have no effect. */
  readonly warnings: readonly string[]
}

/** The settings of `sluice gateway`, in addition to the service's. Plain data. */
export interface GatewayConfig {
  /** The routes file; undefined where flags replace it. */
  readonly file: string | undefined
  /** The routes that flags describe, in the form of a routes file. */
  readonly value: object | undefined
  readonly host: string
  readonly port: number
  readonly tls: GrpcTls | undefined
  readonly trust: ProxyTrustOptions | undefined
  /** Undefined: the default of a gateway. */
  readonly maxConnections: number | undefined
  readonly maxConnectionsPerAddress: number | undefined
  readonly maxHeldMib: number | undefined
  /** Whether its answers say when limits decided without Redis. */
  readonly showsFallback: boolean
}

type Env = NodeJS.ProcessEnv

/** The flags of a command that takes the settings. */
export interface CommandFlags {
  readonly name: string
  readonly specs: readonly FlagSpec[]
}

const SERVE: CommandFlags = { name: 'serve', specs: SETTINGS }

/** Takes each setting from the flag, else the environment, else the config file, else its default. */
export function readConfig(args: readonly string[], env: Env, command: CommandFlags = SERVE): Config {
  const flags = parseFlags(command.name, command.specs, args)
  if (flags.rest.length > 0) throw new SluiceError('FLAG_UNKNOWN', command.name, got(flags.rest[0]))
  refuseMisspelled(env)
  refuseUnsupported(env)
  const from = new SettingSources(flags, env)
  const rules = from.given('rules') ?? (isXdsWanted(env) ? undefined : runtimeRules(env))
  const redis = from.given('redis')
  const redisUrl = redis && redisUrlOf(lastOf(redis), redis.where, env)
  const remoteRules = remoteRulesOf(from, rules, env)
  const isAnywhere = rules !== undefined || hasRemoteRules(remoteRules)
  const hasExamples = from.value('examples') && !isAnywhere
  const host = hasExamples && from.given('host') === undefined ? '127.0.0.1' : from.value('host')
  return {
    rules: rules === undefined ? (hasExamples ? [exampleRules()] : []) : pathsOf(rules).filter(isPath),
    isExample: hasExamples,
    remoteRules,
    mergeDomains: from.value('merge-domains'),
    shadowMode: from.value('shadow-mode'),
    compatibility: from.value('compatibility'),
    stopsWhenOverLimit: isSwitchedOn(env, 'STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT'),
    redisUrl,
    peers: peersOf(from),
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
    firstTokenFile: firstTokenFileOf(from),
    readyWithinMs: from.value('ready-within'),
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
    nodeName: from.value('node-name'),
    adminTokens: adminTokensOf(from.given('admin-token')),
    metricsOpen: from.value('metrics-open'),
    statsOpen: from.value('stats-open'),
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

/** Returns where envoyproxy/ratelimit would look for rules, if the environment says so. */
function runtimeRules(env: Env): Given | undefined {
  const { RUNTIME_ROOT = '', RUNTIME_SUBDIRECTORY = '', RUNTIME_APPDIRECTORY } = env
  if (RUNTIME_ROOT === '') return undefined
  const path = join(RUNTIME_ROOT, RUNTIME_SUBDIRECTORY, RUNTIME_APPDIRECTORY || 'config')
  return { values: [path], where: 'RUNTIME_ROOT', source: 'env' }
}

/** Warns of trust that a token makes redundant. */
function trustWarnings(from: SettingSources): string[] {
  const trust = from.given('trust-callers')
  const token = from.given('token')
  if (trust === undefined || token === undefined || !from.value('trust-callers')) return []
  return [`${trust.where} has no effect: ${token.where} is set, and callers that send the token are trusted`]
}

function workerCount(from: SettingSources, isShared: boolean): number {
  const count = from.value('workers')
  const given = from.given('workers')
  const isOne = given === undefined || lastOf(given) === '1'
  if (isShared || isOne) return count
  throw new SluiceError('WORKERS_NEED_REDIS', given.where, `${got(lastOf(given))} with counters in memory`)
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
