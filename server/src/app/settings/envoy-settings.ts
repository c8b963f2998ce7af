import { got, SluiceError } from 'sluice/internal/core/errors'
import type { SettingName } from './settings.ts'

/** An environment variable of envoyproxy/ratelimit, and its effect here. */
export interface EnvoySetting {
  readonly name: string
  /**
   * refused: a value that would change what limits mean, which nothing here can do, keeps the service from starting.
   */
  readonly status: 'same' | 'different' | 'absent' | 'refused'
  /** What it means there. */
  readonly meaning: string
  /** What is different here, or what to use instead. */
  readonly note?: string
  /** The setting of ours that it sets. */
  readonly sets?: SettingName
  /**
   * absent, refused: the values, in lower case, that change nothing there. Any other is refused, or ignored with a
   * warning at the start. absent without this: the start lists it among the variables that have no effect here.
   */
  readonly harmless?: readonly string[]
}

const OFF = ['false', 'f', '0'] as const
const NO_MEMCACHED = 'there is no Memcached store; use Redis'
const NO_SECOND_REDIS = 'all counters live in one Redis, which may be a cluster'
const OTHER_TRACING = 'OTEL_EXPORTER_OTLP_ENDPOINT switches traces on, OTEL_* say how (docs/observability.md)'
const SETTLED = 'nothing to set: calls of all requests travel together on one connection'

/**
 * Every variable that envoyproxy/ratelimit reads (src/settings/settings.go). The loader takes the variables that have a
 * meaning here from this list, and refuses or reports the rest; docs/migrate-from-envoy-ratelimit.md has the same rows.
 */
// biome-ignore format: one or two lines a variable
export const ENVOY_SETTINGS: readonly EnvoySetting[] = [
  { name: 'HOST', status: 'same', meaning: 'address of the HTTP port', sets: 'host' },
  { name: 'PORT', status: 'same', meaning: 'HTTP port, 8080', sets: 'http-port' },
  { name: 'DEBUG_HOST', status: 'different', meaning: 'address of the debug port', sets: 'admin-host',
    note: 'the admin port; 127.0.0.1 by default instead of every address; other addresses than loopback need a token' },
  { name: 'DEBUG_PORT', status: 'different', meaning: 'debug port, 6070', note: 'the admin port; 8082 by default', sets: 'admin-port' },
  { name: 'GRPC_HOST', status: 'different', meaning: 'address of the gRPC port', note: 'where it is not set, that of HOST', sets: 'grpc-host' },
  { name: 'GRPC_PORT', status: 'same', meaning: 'gRPC port, 8081', sets: 'grpc-port' },
  { name: 'GRPC_UDS', status: 'same', meaning: 'Unix socket of gRPC instead of a port', sets: 'grpc-socket' },
  { name: 'GRPC_MAX_CONNECTION_AGE', status: 'same', meaning: 'age at which a connection is asked to close, 24h', sets: 'grpc-max-connection-age' },
  { name: 'GRPC_MAX_CONNECTION_AGE_GRACE', status: 'same', meaning: 'so much later it is cut off, 1h', sets: 'grpc-max-connection-age-grace' },
  { name: 'GRPC_SERVER_USE_TLS', status: 'same', meaning: 'gRPC with TLS', sets: 'grpc-tls' },
  { name: 'GRPC_SERVER_TLS_CERT', status: 'same', meaning: 'file of the certificate', sets: 'grpc-tls-cert' },
  { name: 'GRPC_SERVER_TLS_KEY', status: 'same', meaning: 'file of its key', sets: 'grpc-tls-key' },
  { name: 'GRPC_CLIENT_TLS_CACERT', status: 'same', meaning: 'file of the authority that signs the certificates of clients', sets: 'grpc-client-ca' },
  { name: 'GRPC_CLIENT_TLS_SAN', status: 'same', meaning: 'name that a client certificate has to be made out to', sets: 'grpc-client-san' },
  { name: 'LOG_LEVEL', status: 'different', meaning: 'least level that is logged, warn', sets: 'log-level',
    note: 'info by default; trace means debug, fatal and panic mean error' },
  { name: 'LOG_FORMAT', status: 'different', meaning: 'text or json, text', sets: 'log-format',
    note: 'by default, text on a terminal and json elsewhere; names of the fields differ' },
  { name: 'CONFIG_TYPE', status: 'refused', meaning: 'FILE or GRPC_XDS_SOTW', harmless: ['file', 'grpc_xds_sotw'],
    note: 'it is FILE or GRPC_XDS_SOTW; with the latter, RUNTIME_ROOT is not read, as there' },
  { name: 'FORCE_START_WITHOUT_INITIAL_CONFIG', status: 'different', meaning: 'start without rules', sets: 'start-without-rules',
    note: 'for rules of a control plane, which it waits for 2 seconds, or of an address; wrong or missing files keep it from starting' },
  { name: 'CONFIG_GRPC_XDS_NODE_ID', status: 'same', meaning: 'xDS: our name, default', sets: 'rules-xds-node' },
  { name: 'CONFIG_GRPC_XDS_NODE_METADATA', status: 'same', meaning: 'xDS: what we say of us, key=value', sets: 'rules-xds-metadata' },
  { name: 'CONFIG_GRPC_XDS_SERVER_URL', status: 'same', meaning: 'xDS: server, localhost:18000; read where CONFIG_TYPE asks for it',
    note: '`--rules-xds`' },
  { name: 'CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL', status: 'different', meaning: 'xDS: time between attempts to connect, 3s',
    note: 'the pauses of XDS_CLIENT_BACKOFF_INITIAL_INTERVAL are between these, too' },
  { name: 'CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS', status: 'same', meaning: 'xDS: headers, name:value', sets: 'rules-xds-headers' },
  { name: 'CONFIG_GRPC_XDS_SERVER_USE_TLS', status: 'same', meaning: 'xDS: TLS', sets: 'rules-xds-tls' },
  { name: 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT', status: 'same', meaning: 'xDS: our certificate', sets: 'rules-cert' },
  { name: 'CONFIG_GRPC_XDS_CLIENT_TLS_KEY', status: 'same', meaning: 'xDS: its key', sets: 'rules-key' },
  { name: 'CONFIG_GRPC_XDS_SERVER_TLS_CACERT', status: 'same', meaning: "xDS: additional authority", sets: 'rules-ca' },
  { name: 'CONFIG_GRPC_XDS_SERVER_TLS_SAN', status: 'same', meaning: 'xDS: whom its certificate is made out to', sets: 'rules-xds-name' },
  { name: 'XDS_CLIENT_BACKOFF_INITIAL_INTERVAL', status: 'different', meaning: 'xDS: first pause, 10s', sets: 'rules-xds-backoff',
    note: '1s by default; delays double' },
  { name: 'XDS_CLIENT_BACKOFF_MAX_INTERVAL', status: 'different', meaning: 'xDS: longest pause, 60s', sets: 'rules-xds-backoff-max',
    note: '30s by default' },
  { name: 'XDS_CLIENT_BACKOFF_RANDOM_FACTOR', status: 'different', meaning: 'xDS: spread of pauses',
    note: 'up to half of each pause is left out by chance' },
  { name: 'XDS_CLIENT_BACKOFF_JITTER', status: 'different', meaning: 'xDS: spread pauses', note: 'they are always spread' },
  { name: 'XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES', status: 'different', meaning: 'xDS: largest message, 4 MiB', sets: 'rules-xds-max-message',
    note: '8 MiB by default' },
  { name: 'USE_STATSD', status: 'different', meaning: 'send counts to StatsD, on by default', sets: 'statsd',
    note: 'off, unless it is true or STATSD_HOST is set; over TCP as there' },
  { name: 'STATSD_HOST', status: 'same', meaning: 'host of StatsD', sets: 'statsd-host' },
  { name: 'STATSD_PORT', status: 'same', meaning: 'port of StatsD, 8125', sets: 'statsd-port' },
  { name: 'USE_DOG_STATSD', status: 'same', meaning: 'send counts to DogStatsD, over UDP', sets: 'dog-statsd' },
  { name: 'USE_DOG_STATSD_MOGRIFIERS', status: 'absent', meaning: 'names become tags for DogStatsD', harmless: [],
    note: 'names are sent as they are; /metrics of the admin port has labels' },
  { name: 'EXTRA_TAGS', status: 'same', meaning: 'tags for all counts', sets: 'statsd-tags' },
  { name: 'STATS_FLUSH_INTERVAL', status: 'same', meaning: 'time between sending, 10s', sets: 'statsd-interval' },
  { name: 'DISABLE_STATS', status: 'different', meaning: 'count nothing',
    note: 'nothing is sent to StatsD; /stats and /metrics of the admin port stay, --metrics off ends the latter' },
  { name: 'USE_PROMETHEUS', status: 'different', meaning: 'serve metrics for Prometheus', sets: 'prometheus',
    note: 'they are always at /metrics of the admin port; this adds an address. Their names are our own' },
  { name: 'PROMETHEUS_ADDR', status: 'same', meaning: 'address of the metrics, :9090', sets: 'prometheus-address' },
  { name: 'PROMETHEUS_PATH', status: 'same', meaning: 'path of the metrics', sets: 'prometheus-path' },
  { name: 'PROMETHEUS_MAPPER_YAML', status: 'absent', meaning: 'names of the metrics', harmless: [],
    note: 'names are listed in docs/observability.md; use recording rules for others' },
  { name: 'PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS', status: 'absent', meaning: 'unit of the times in the metrics', harmless: OFF,
    note: 'times are in seconds' },
  { name: 'RUNTIME_ROOT', status: 'different', meaning: 'rules are in RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY',
    note: 'only .yaml and .yml files are read; not set: no rules, and no start. SLUICE_RULES comes first' },
  { name: 'RUNTIME_SUBDIRECTORY', status: 'same', meaning: 'the second part of that path' },
  { name: 'RUNTIME_APPDIRECTORY', status: 'same', meaning: 'the third part of that path, config' },
  { name: 'RUNTIME_IGNOREDOTFILES', status: 'different', meaning: 'leave out files that begin with a dot', note: 'always left out' },
  { name: 'RUNTIME_WATCH_ROOT', status: 'different', meaning: 'look for a changed link at the root instead of changed files',
    note: 'both are looked for, always' },
  { name: 'EXPIRATION_JITTER_MAX_SECONDS', status: 'absent', meaning: 'spread of the times at which counters expire in Redis',
    note: 'counters expire when they mean nothing any more' },
  { name: 'LOCAL_CACHE_SIZE_IN_BYTES', status: 'absent', meaning: 'memory for counters that are known to be over their limit', harmless: ['0'],
    note: '`consistency: leased` in a rule saves far more calls to Redis' },
  { name: 'NEAR_LIMIT_RATIO', status: 'absent', meaning: 'from which share of a limit on a hit counts as near it', harmless: ['0.8'],
    note: 'it is 0.8' },
  { name: 'CACHE_KEY_PREFIX', status: 'same', meaning: 'text before every key in Redis', sets: 'key-prefix' },
  { name: 'BACKEND_TYPE', status: 'refused', meaning: 'redis or memcache', note: NO_MEMCACHED, harmless: ['redis'] },
  { name: 'STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT', status: 'different', meaning: 'do not count what was refused',
    note: 'with --compatibility as there; otherwise refused hits never count, unless a rule says `count_denied: true`' },
  { name: 'LIMIT_RESPONSE_HEADERS_ENABLED', status: 'same', meaning: 'headers about the limit in answers', sets: 'response-headers' },
  { name: 'LIMIT_LIMIT_HEADER', status: 'same', meaning: 'name of the one with the limit', sets: 'limit-header' },
  { name: 'LIMIT_REMAINING_HEADER', status: 'same', meaning: 'name of the one with what remains', sets: 'remaining-header' },
  { name: 'LIMIT_RESET_HEADER', status: 'same', meaning: 'name of the header with the seconds until the reset', sets: 'reset-header' },
  { name: 'HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED', status: 'same', meaning: 'healthy only with rules', sets: 'health-needs-rules' },
  { name: 'REDIS_SOCKET_TYPE', status: 'different', meaning: 'unix or tcp, unix',
    note: 'where it is not set, an address that begins with / is a Unix socket' },
  { name: 'REDIS_TYPE', status: 'same', meaning: 'SINGLE, SENTINEL or CLUSTER' },
  { name: 'REDIS_URL', status: 'different', meaning: 'host:port, a list of them, or a path, as REDIS_TYPE says', sets: 'redis',
    note: 'also redis:// and similar addresses; not set: counters live in memory' },
  { name: 'REDIS_POOL_SIZE', status: 'absent', meaning: 'connections to Redis', note: SETTLED },
  { name: 'REDIS_AUTH', status: 'same', meaning: 'password, or user:password' },
  { name: 'REDIS_TLS', status: 'same', meaning: 'TLS to Redis' },
  { name: 'REDIS_TLS_CLIENT_CERT', status: 'same', meaning: 'file of our certificate', sets: 'redis-cert' },
  { name: 'REDIS_TLS_CLIENT_KEY', status: 'same', meaning: 'file of its key', sets: 'redis-key' },
  { name: 'REDIS_TLS_CACERT', status: 'same', meaning: 'file of the authority of Redis', sets: 'redis-ca' },
  { name: 'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION', status: 'same', meaning: 'the certificate of Redis may be made out to another host' },
  { name: 'REDIS_PIPELINE_WINDOW', status: 'absent', meaning: 'how long commands are collected', note: SETTLED },
  { name: 'REDIS_PIPELINE_LIMIT', status: 'absent', meaning: 'how many are collected', note: SETTLED },
  { name: 'REDIS_CLUSTER_PIPELINE_PARALLELISM', status: 'absent', meaning: 'how many nodes in parallel', note: SETTLED },
  { name: 'REDIS_POOL_ON_EMPTY_BEHAVIOR', status: 'absent', meaning: 'when connections run out', note: SETTLED },
  { name: 'REDIS_TIMEOUT', status: 'absent', meaning: 'how long connecting and commands may take, 10s',
    note: 'a decision waits for 5 to 15 ms, --redis-timeout; connecting for one second, in the background' },
  { name: 'REDIS_SENTINEL_AUTH', status: 'same', meaning: 'password, or user:password, of the sentinels' },
  { name: 'REDIS_HEALTH_CHECK_ACTIVE_CONNECTION', status: 'same', meaning: 'not healthy without a connection to Redis', sets: 'health-needs-redis' },
  { name: 'REDIS_STARTUP_INITIAL_INTERVAL', status: 'absent', meaning: 'first pause between attempts to connect at the start',
    note: 'after a second it starts without Redis, and keeps trying' },
  { name: 'REDIS_STARTUP_MAX_INTERVAL', status: 'absent', meaning: 'longest of these pauses',
    note: 'after a second it starts without Redis, and keeps trying' },
  { name: 'REDIS_STARTUP_MAX_ELAPSED_TIME', status: 'absent', meaning: 'after so long it gives up, 0 for never',
    note: 'after a second it starts without Redis, and keeps trying' },
  { name: 'REDIS_PERSECOND', status: 'absent', meaning: 'another Redis for limits per second', note: NO_SECOND_REDIS, harmless: OFF },
  { name: 'REDIS_PERSECOND_SOCKET_TYPE', status: 'absent', meaning: 'its socket type', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_TYPE', status: 'absent', meaning: 'its kind', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_URL', status: 'absent', meaning: 'its address', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_POOL_SIZE', status: 'absent', meaning: 'connections to it', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_AUTH', status: 'absent', meaning: 'its password', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_TLS', status: 'absent', meaning: 'TLS to it', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_SENTINEL_AUTH', status: 'absent', meaning: 'password of its sentinels', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_PIPELINE_WINDOW', status: 'absent', meaning: 'how long its commands are collected', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_PIPELINE_LIMIT', status: 'absent', meaning: 'how many of them', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM', status: 'absent', meaning: 'how many of its nodes in parallel', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_TIMEOUT', status: 'absent', meaning: 'how long they may take', note: NO_SECOND_REDIS },
  { name: 'REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR', status: 'absent', meaning: 'when connections to it run out', note: NO_SECOND_REDIS },
  { name: 'MEMCACHE_HOST_PORT', status: 'absent', meaning: 'Memcached servers', note: NO_MEMCACHED, harmless: [] },
  { name: 'MEMCACHE_MAX_IDLE_CONNS', status: 'absent', meaning: 'connections to them', note: NO_MEMCACHED },
  { name: 'MEMCACHE_SRV', status: 'absent', meaning: 'DNS name of them', note: NO_MEMCACHED, harmless: [] },
  { name: 'MEMCACHE_SRV_REFRESH', status: 'absent', meaning: 'how often it is looked up', note: NO_MEMCACHED },
  { name: 'MEMCACHE_TLS', status: 'absent', meaning: 'TLS to them', note: NO_MEMCACHED },
  { name: 'MEMCACHE_TLS_CLIENT_CERT', status: 'absent', meaning: 'our certificate', note: NO_MEMCACHED },
  { name: 'MEMCACHE_TLS_CLIENT_KEY', status: 'absent', meaning: 'its key', note: NO_MEMCACHED },
  { name: 'MEMCACHE_TLS_CACERT', status: 'absent', meaning: 'their authority', note: NO_MEMCACHED },
  { name: 'MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION', status: 'absent', meaning: 'any name in their certificate', note: NO_MEMCACHED },
  { name: 'SHADOW_MODE', status: 'same', meaning: 'no rule refuses', sets: 'shadow-mode' },
  { name: 'QUOTA_MODE', status: 'refused', meaning: 'all limits are in quota mode', note: 'set quota_mode: true on the rules', harmless: OFF },
  { name: 'RESPONSE_DYNAMIC_METADATA', status: 'same', meaning: 'repeat descriptors and the metadata of rules in answers', sets: 'dynamic-metadata' },
  { name: 'MERGE_DOMAIN_CONFIG', status: 'same', meaning: 'files of the same domain make one set of rules', sets: 'merge-domains' },
  { name: 'TRACING_ENABLED', status: 'absent', meaning: 'OpenTelemetry traces', note: OTHER_TRACING, harmless: OFF },
  { name: 'TRACING_SERVICE_NAME', status: 'absent', meaning: 'our name in traces', note: OTHER_TRACING },
  { name: 'TRACING_SERVICE_NAMESPACE', status: 'absent', meaning: 'our namespace', note: OTHER_TRACING },
  { name: 'TRACING_SERVICE_INSTANCE_ID', status: 'absent', meaning: 'our instance', note: OTHER_TRACING },
  { name: 'TRACING_EXPORTER_PROTOCOL', status: 'absent', meaning: 'how traces are sent', note: OTHER_TRACING },
  { name: 'TRACING_SAMPLING_RATE', status: 'absent', meaning: 'share of traces', note: OTHER_TRACING },
]

/** A variable that envoyproxy/ratelimit does not read, although some deployments set it. */
export interface UnreadVariable {
  readonly name: string
  /** What to use here for what its name promises. */
  readonly instead: string
}

/**
 * Variables that are set for forks, branches and older versions of envoyproxy/ratelimit. It does not read them, so they
 * change nothing here either: an environment has the same effect as there. The start lists each that is set.
 */
export const UNREAD_VARIABLES: readonly UnreadVariable[] = [
  { name: 'GRPC_MAX_CONCURRENT_STREAMS', instead: '--grpc-max-streams (SLUICE_GRPC_MAX_STREAMS)' },
  { name: 'LIMIT_REQUEST_HEADERS_ENABLED', instead: '--request-headers (SLUICE_REQUEST_HEADERS)' },
  { name: 'LIMIT_REQUEST_LIMIT_HEADER', instead: '--request-limit-header (SLUICE_REQUEST_LIMIT_HEADER)' },
  { name: 'LIMIT_REQUEST_REMAINING_HEADER', instead: '--request-remaining-header (SLUICE_REQUEST_REMAINING_HEADER)' },
  { name: 'LIMIT_REQUEST_RESET_HEADER', instead: '--request-reset-header (SLUICE_REQUEST_RESET_HEADER)' },
  {
    name: 'MAX_CONCURRENT_REQUESTS',
    instead: '--grpc-max-streams for each connection; calls to Redis are bounded always',
  },
  { name: 'PROTO', instead: 'an address of that family in HOST and GRPC_HOST' },
  { name: 'REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR', instead: 'nothing: it always connects again' },
  { name: 'REDIS_PERSECOND_USE_EXPLICIT_PIPELINE', instead: 'nothing: all counters live in one Redis' },
  { name: 'REDIS_USE_EXPLICIT_PIPELINE', instead: 'nothing: calls of all requests travel together on one connection' },
  { name: 'REQUEST_TIMEOUT', instead: '--redis-timeout, and timeout_ms of a rule' },
  { name: 'SANITIZE_DESCRIPTOR_METRIC_DOTS', instead: 'nothing: dots of IPv4 addresses become _, others stay' },
  { name: 'USE_CALENDAR_MONTH_RATE_LIMIT', instead: 'algorithm: fixed_window with a calendar in a rule' },
]

type Env = NodeJS.ProcessEnv

/** Throws when the environment asks for something that would change the limits and is not supported here. */
export function refuseUnsupported(env: Env): void {
  for (const setting of ENVOY_SETTINGS) {
    const { name, status, note } = setting
    if (status !== 'refused' || isHarmless(setting, env)) continue
    throw new SluiceError('VARIABLE_UNSUPPORTED', name, `${got(env[name])}; ${note}`)
  }
}

/** Warns of variables that are set and have no effect here: one line each where that matters, else one for all. */
export function ignoredWarnings(env: Env): string[] {
  const absent = ENVOY_SETTINGS.filter(({ name, status }) => status === 'absent' && (env[name] ?? '') !== '')
  const idle = absent.filter(({ harmless }) => harmless === undefined).map(({ name }) => name)
  return [
    ...absent
      .filter((setting) => setting.harmless !== undefined && !isHarmless(setting, env))
      .map(({ name, note }) => `${name} is ignored: ${note}`),
    ...(idle.length === 0 ? [] : [`${idle.join(', ')}: nothing to set here (docs/migrate-from-envoy-ratelimit.md)`]),
    ...UNREAD_VARIABLES.filter(({ name }) => (env[name] ?? '') !== '').map(
      ({ name, instead }) => `${name} is ignored, as envoyproxy/ratelimit ignores it; here: ${instead}`,
    ),
  ]
}

function isHarmless({ name, harmless = [] }: EnvoySetting, env: Env): boolean {
  const value = env[name] ?? ''
  return value === '' || harmless.includes(value.toLowerCase())
}
