import type { SettingKind } from './setting-values.ts'

export const SETTING_GROUPS = [
  'Rules',
  'Counters',
  'Doors',
  'Process',
  'gRPC',
  'Answers to Envoy',
  'Metrics',
  'Quotas',
  'Load shedding',
] as const

type Group = (typeof SETTING_GROUPS)[number]

/** One setting, without what follows from its name and kind. */
export interface SettingRow {
  /** The kind of its value, which decides how it is read. */
  readonly kind: SettingKind
  /** Its variable, where that is not SLUICE_ and the flag in capitals. */
  readonly env?: string
  /** Another variable that people would guess. */
  readonly alias?: string
  /** What the help calls the value, if its kind does not say it. */
  readonly value?: string
  readonly choices?: readonly string[]
  /** The default, in the form in which it is set. */
  readonly default?: string
  /**
   * Without a default: what happens when it is not set, in words. 'none', or 'off' for a switch, where it is left out.
   */
  readonly unset?: string
  /** One line about it. */
  readonly text: string
}

/** One setting of `sluice serve`, complete. A switch has no `value`. */
export interface SettingSpec extends SettingRow {
  readonly group: Group
  readonly flag: string
  readonly env: string
}

/**
 * The one list of settings. Each is a flag, an environment variable and, with _ for -, a key of the config file. The
 * loader reads settings by it, `--help` is printed from it, and docs/operate.md has its rows. What envoyproxy/ratelimit
 * calls them is in envoy-settings.ts. A setting that no code reads fails a test.
 */
// biome-ignore format: two lines a setting
const TABLE = {
  Rules: {
    rules: { kind: 'paths', value: 'FILE|DIR|URL', unset: 'none: it does not start',
      text: 'a rule file, a directory of them, or the http(s) address of one; for several, repeat the flag or use commas' },
    'rules-poll': { kind: 'duration', default: '30s',
      text: 'how often rules are fetched from an address, ±10 %; at least 1s' },
    'rules-timeout': { kind: 'duration', default: '10s',
      text: 'deadline for an address to send its rules, or for a control plane to accept a connection' },
    'rules-token': { kind: 'text',
      text: 'token sent to rules addresses as "Authorization: Bearer TEXT"; prefer the variable or the file' },
    'rules-token-file': { kind: 'text', value: 'FILE',
      text: 'a file with that token, read before each request' },
    'rules-ca': { kind: 'text', value: 'FILE', unset: "the machine's",
      text: 'TLS: an additional CA for rules addresses and control planes' },
    'rules-cert': { kind: 'text', value: 'FILE',
      text: 'TLS: client certificate for servers that require one; changed files apply to the next connection' },
    'rules-key': { kind: 'text', value: 'FILE',
      text: 'TLS: the private key of the client certificate' },
    'start-without-rules': { kind: 'switch',
      text: 'start without limits while a rules address or control plane is unavailable' },
    'rules-xds': { kind: 'text', value: 'HOST:PORT',
      text: 'a control plane that sends rules over xDS, such as Envoy Gateway (docs/rules-sources.md)' },
    'rules-xds-tls': { kind: 'switch',
      text: 'TLS to the control plane; --rules-ca, --rules-cert and --rules-key also apply to it' },
    'rules-xds-name': { kind: 'text', value: 'NAME', unset: 'its host',
      text: 'host name that the certificate of the control plane must match' },
    'rules-xds-node': { kind: 'text', value: 'ID', default: 'default',
      text: 'node id to send: a control plane may have rules for some ids only' },
    'rules-xds-metadata': { kind: 'text', value: 'KEY=VALUE,…',
      text: 'node metadata to send' },
    'rules-xds-headers': { kind: 'text', value: 'NAME:VALUE,…',
      text: 'headers to send with the xDS call; prefer the variable for secrets' },
    'rules-xds-max-message': { kind: 'count', value: 'BYTES', unset: '8388608',
      text: 'maximum message size: all rules arrive in one message; up to 67108864' },
    'rules-xds-backoff': { kind: 'duration', default: '1s',
      text: 'first delay before reconnecting; delays double and are shortened at random by up to half' },
    'rules-xds-backoff-max': { kind: 'duration', default: '30s',
      text: 'maximum delay before reconnecting' },
    examples: { kind: 'switch',
      text: 'use the example rules if no rules are given; listens on loopback unless --host is set' },
    'merge-domains': { kind: 'switch',
      text: 'merge files of the same domain into one set of rules' },
    compatibility: { kind: 'choice', value: 'SERVICE', choices: ['envoyproxy-ratelimit'],
      text: 'answer like another service: envoyproxy-ratelimit (docs/migrate-from-envoy-ratelimit.md)' },
    'shadow-mode': { kind: 'switch', env: 'SHADOW_MODE',
      text: 'all rules count and report but do not refuse' },
  },
  Counters: {
    redis: { kind: 'text', env: 'REDIS_URL', value: 'URL', unset: 'counters in memory',
      text: 'share counters through Redis: redis://, rediss://, redis+sentinel://, redis+cluster://, unix://' },
    'redis-timeout': { kind: 'duration', unset: 'adapts, 5ms to 15ms',
      text: "how long a decision waits for Redis before the rule's failure policy applies; a rule's timeout_ms takes precedence" },
    'key-prefix': { kind: 'text',
      text: 'prefix of all keys in Redis; services with different prefixes share nothing' },
    keys: { kind: 'choice', value: 'FORM', choices: ['readable', 'compact'], default: 'readable',
      text: 'readable or compact; compact keys are short hashes keyed with SLUICE_SECRET and use less memory in Redis; must be the same on every node' },
    'redis-ca': { kind: 'text', env: 'REDIS_TLS_CACERT', value: 'FILE', unset: "the machine's",
      text: 'TLS: the CA that signed the certificate of Redis' },
    'redis-cert': { kind: 'text', env: 'REDIS_TLS_CLIENT_CERT', value: 'FILE',
      text: 'TLS: client certificate, if Redis requires one' },
    'redis-key': { kind: 'text', env: 'REDIS_TLS_CLIENT_KEY', value: 'FILE',
      text: 'TLS: the private key of the client certificate' },
    peers: { kind: 'text', value: 'LIST',
      text: 'share counters without Redis, each in the memory of one node: HOST:PORT,… of the gRPC ports of all nodes, dns:NAME:PORT or srv:NAME; needs SLUICE_SECRET' },
    'peer-address': { kind: 'text', value: 'HOST:PORT', unset: 'the one in --peers that answers as this node',
      text: 'with --peers: where the other nodes reach this one' },
    secret: { kind: 'text',
      text: 'with Redis, peers or a database: a secret shared by all nodes; prefer the variable, other users can see flags' },
  },
  Doors: {
    'grpc-port': { kind: 'port', env: 'GRPC_PORT', default: '8081',
      text: 'gRPC: the rate limit service of Envoy, health checks; 0 picks a free port' },
    'grpc-host': { kind: 'text', env: 'GRPC_HOST', value: 'ADDRESS', unset: 'that of --host',
      text: 'address for gRPC to listen on' },
    'grpc-socket': { kind: 'text', env: 'GRPC_UDS', value: 'PATH',
      text: 'gRPC on a Unix socket instead of a port' },
    'http-port': { kind: 'port', env: 'PORT', default: '8080',
      text: 'HTTP: /v1/check, /json, probes; 0 picks a free port' },
    host: { kind: 'text', env: 'HOST', value: 'ADDRESS', default: '0.0.0.0',
      text: 'address for HTTP to listen on' },
    'admin-port': { kind: 'port', env: 'ADMIN_PORT', default: '8082',
      text: 'for operators: the admin API, /metrics, /rlconfig, /stats, probes; 0 picks a free port' },
    'admin-host': { kind: 'text', env: 'ADMIN_HOST', value: 'ADDRESS', default: '127.0.0.1',
      text: 'address for the admin port to listen on; addresses other than loopback require an admin token' },
    'admin-names': { kind: 'hosts', value: 'NAMES', unset: 'addresses, localhost',
      text: 'additional host names that the admin port accepts in addition to IP addresses, localhost and --admin-host; use commas' },
    'admin-token': { kind: 'text',
      text: 'admin API token, as TOKEN for an admin or ROLE:TOKEN (viewer, operator); for several, use commas; prefer the variable' },
    'metrics-open': { kind: 'switch',
      text: 'serve /metrics on the admin port without a token, to any machine that can reach the port' },
    'stats-open': { kind: 'switch',
      text: 'serve /stats, /rlconfig and the busiest keys on the admin port without a token, to any machine that can reach the port' },
    'customer-usage': { kind: 'switch',
      text: 'let customers read their usage at GET /v1/usage on the HTTP port with their API key' },
    token: { kind: 'text', alias: 'SLUICE_HTTP_TOKEN', unset: 'anyone may call',
      text: 'token that HTTP and gRPC callers must send; it makes them trusted; for several, use commas; prefer the variable' },
    'trust-callers': { kind: 'switch',
      text: 'without a token: let any caller that can reach a port refund (cost below 0) and bring limits' },
  },
  Process: {
    config: { kind: 'text', value: 'FILE',
      text: 'a YAML file with these settings, such as "http_port: 8080"; flags and variables override it' },
    workers: { kind: 'workers', value: 'N|auto', default: '1',
      text: 'number of processes that share the ports; auto: one per core; more than one needs Redis' },
    'worker-timeout': { kind: 'duration', default: '10s',
      text: 'kill and replace a worker that does not respond for this long; 0s: never' },
    'drain-delay': { kind: 'duration', default: '0s',
      text: 'on SIGTERM: keep serving this long with failing health checks, so that load balancers notice' },
    'drain-timeout': { kind: 'duration', default: '10s',
      text: 'then: how long calls in flight may take before they are aborted' },
    'health-needs-redis': { kind: 'switch', env: 'REDIS_HEALTH_CHECK_ACTIVE_CONNECTION',
      text: "fail health checks while Redis is unreachable; by default they pass and the rules' failure policies apply" },
    'health-needs-rules': { kind: 'switch', env: 'HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED',
      text: 'fail health checks while no rules are in force, for example before a control plane has sent any' },
    'node-name': { kind: 'name', value: 'NAME', unset: 'the host name, with the admin port unless that is 8082',
      text: 'name of this node in lists of nodes; must be unique and stay the same after a restart' },
    'log-level': { kind: 'level', env: 'LOG_LEVEL', value: 'LEVEL', choices: ['debug', 'info', 'warn', 'error'], default: 'info',
      text: 'debug, info, warn or error' },
    'log-format': { kind: 'choice', env: 'LOG_FORMAT', value: 'FORMAT', choices: ['text', 'json'], unset: 'text on a terminal, else json',
      text: 'text or json' },
    'decision-log': { kind: 'text', value: 'stdout|FILE', unset: 'off',
      text: 'log a JSON line for each refusal, up to a rate, and for a share of other decisions (docs/observability.md)' },
    'decision-log-refusals': { kind: 'rate', unset: '100',
      text: 'maximum number of refusals that a process logs per second, 0 for none; the next line counts the omitted ones' },
    'decision-log-share': { kind: 'share', default: '0',
      text: 'share of other decisions to log, from 0 to 1, such as 0.01' },
    'decision-log-size': { kind: 'count', value: 'MIB', unset: '100',
      text: 'size in MiB at which the file is rotated to FILE.1' },
    'decision-log-files': { kind: 'count', unset: '5',
      text: 'number of rotated files to keep' },
    region: { kind: 'text', value: 'NAME',
      text: 'where this node runs, as logged in the decision log' },
  },
  gRPC: {
    'grpc-tls': { kind: 'switch', env: 'GRPC_SERVER_USE_TLS',
      text: 'encrypt gRPC; needs --grpc-tls-cert and --grpc-tls-key' },
    'grpc-tls-cert': { kind: 'text', env: 'GRPC_SERVER_TLS_CERT', value: 'FILE',
      text: 'server certificate with its chain' },
    'grpc-tls-key': { kind: 'text', env: 'GRPC_SERVER_TLS_KEY', value: 'FILE',
      text: 'the private key of the server certificate' },
    'grpc-client-ca': { kind: 'text', env: 'GRPC_CLIENT_TLS_CACERT', value: 'FILE', unset: 'anyone may connect',
      text: 'require client certificates signed by this CA' },
    'grpc-client-san': { kind: 'text', env: 'GRPC_CLIENT_TLS_SAN', value: 'NAME', unset: 'any',
      text: 'require client certificates issued to this name' },
    'grpc-max-connection-age': { kind: 'duration', env: 'GRPC_MAX_CONNECTION_AGE', default: '24h',
      text: 'ask gRPC clients to reconnect after this long, ±10 %; 0s: never' },
    'grpc-max-connection-age-grace': { kind: 'duration', env: 'GRPC_MAX_CONNECTION_AGE_GRACE', default: '1h',
      text: 'then close the connection after this grace period' },
    'grpc-max-streams': { kind: 'count', unset: '1024',
      text: 'maximum number of concurrent calls per gRPC connection' },
    'grpc-max-connections': { kind: 'count', unset: '20000',
      text: 'maximum number of gRPC connections per process; at the limit, idle connections of the address with the most are closed' },
    'grpc-max-held': { kind: 'count', value: 'MIB', unset: '64',
      text: 'maximum MiB buffered for gRPC clients per process; above it, the connections that buffer the most are closed' },
  },
  'Answers to Envoy': {
    'response-headers': { kind: 'switch', env: 'LIMIT_RESPONSE_HEADERS_ENABLED',
      text: 'ask Envoy to add headers to its responses: the limit, the remaining requests, the seconds until the reset' },
    'limit-header': { kind: 'header', env: 'LIMIT_LIMIT_HEADER', value: 'NAME', default: 'RateLimit-Limit',
      text: 'name of the response header with the limit' },
    'remaining-header': { kind: 'header', env: 'LIMIT_REMAINING_HEADER', value: 'NAME', default: 'RateLimit-Remaining',
      text: 'name of the response header with the remaining requests' },
    'reset-header': { kind: 'header', env: 'LIMIT_RESET_HEADER', value: 'NAME', default: 'RateLimit-Reset',
      text: 'name of the response header with the seconds until the reset' },
    'request-headers': { kind: 'switch',
      text: 'ask Envoy to add the same headers to the requests it forwards' },
    'request-limit-header': { kind: 'header', value: 'NAME', default: 'RateLimit-Limit',
      text: 'name of the request header with the limit' },
    'request-remaining-header': { kind: 'header', value: 'NAME', default: 'RateLimit-Remaining',
      text: 'name of the request header with the remaining requests' },
    'request-reset-header': { kind: 'header', value: 'NAME', default: 'RateLimit-Reset',
      text: 'name of the request header with the seconds until the reset' },
    'dynamic-metadata': { kind: 'switch', env: 'RESPONSE_DYNAMIC_METADATA',
      text: "pass the descriptors of the request and the metadata of the rules to Envoy's other filters" },
    'unit-multipliers': { kind: 'switch',
      text: 'report a window of 90s as 90 × 1s; needs Envoy 1.40 or newer, older versions read 1s' },
  },
  Metrics: {
    metrics: { kind: 'choice', value: 'on|off', choices: ['on', 'off'], default: 'on',
      text: 'serve Prometheus metrics at /metrics of the admin port (docs/observability.md)' },
    'metrics-max-rules': { kind: 'count', unset: '1000',
      text: 'maximum number of rules with separate series, in the order of the files; the rest are counted together as other' },
    prometheus: { kind: 'switch', env: 'USE_PROMETHEUS',
      text: 'also serve the metrics, and nothing else, at another address' },
    'prometheus-address': { kind: 'address', env: 'PROMETHEUS_ADDR', value: 'HOST:PORT', default: ':9090',
      text: 'with --prometheus: the address; without a host, all addresses of the machine' },
    'prometheus-path': { kind: 'text', env: 'PROMETHEUS_PATH', value: 'PATH', default: '/metrics',
      text: 'with --prometheus: the path' },
    statsd: { kind: 'switch', env: 'USE_STATSD', unset: 'off, or on if --statsd-host is set',
      text: 'send counts to StatsD over TCP, with the names of envoyproxy/ratelimit' },
    'dog-statsd': { kind: 'switch', env: 'USE_DOG_STATSD',
      text: 'send counts to DogStatsD, over UDP with tags' },
    'statsd-host': { kind: 'text', env: 'STATSD_HOST', value: 'HOST', unset: 'localhost',
      text: 'host of StatsD' },
    'statsd-port': { kind: 'port', env: 'STATSD_PORT', default: '8125',
      text: 'port of StatsD' },
    'statsd-interval': { kind: 'duration', env: 'STATS_FLUSH_INTERVAL', default: '10s',
      text: 'how often counts are sent' },
    'statsd-tags': { kind: 'tags', env: 'EXTRA_TAGS', value: 'K:V,...',
      text: 'tags to send with every count' },
    'hot-keys': { kind: 'choice', value: 'ON|OFF', choices: ['on', 'off'], default: 'on',
      text: 'track the keys that each rule refuses most and sees most (docs/observability.md)' },
    'hot-key-share': { kind: 'count', value: 'PERCENT', unset: '50',
      text: "log keys with more than this share of a rule's requests in a minute; 100: none" },
    'hot-key-min': { kind: 'count', unset: '1000',
      text: 'only log keys with at least this many requests in that minute' },
  },
  Quotas: {
    database: { kind: 'text', env: 'DATABASE_URL', value: 'URL',
      text: 'PostgreSQL for customers and their quotas: postgres://user:password@host/name; prefer the variable' },
    'database-listen': { kind: 'text', value: 'URL', unset: 'the address of the database',
      text: 'address to listen for changes on: the server itself, if --database is a PgBouncer' },
    data: { kind: 'text', value: 'DIR',
      text: 'data directory; without a database: customers and their quotas, for one node (bill from PostgreSQL only); with one: the end of the audit log' },
    'first-token-file': { kind: 'text', value: 'FILE', unset: 'first-token in --data, else none',
      text: 'file for the first admin API token, readable only by this user; `sluice token first` prints it' },
    'ready-within': { kind: 'duration', default: '60s',
      text: 'how long a node waits, not ready, until all its processes have the records of the database; then it is ready but degraded' },
    'api-key-entries': { kind: 'paths', value: 'KEYS', default: 'api_key,x-api-key',
      text: 'descriptor keys whose value is an API key, separated by commas' },
    'customer-entries': { kind: 'paths', value: 'KEYS', default: 'customer,customer_id,tenant',
      text: 'descriptor keys whose value is a customer id' },
    'address-entries': { kind: 'paths', value: 'KEYS', default: 'remote_address,ip',
      text: 'descriptor keys whose value is an address, for blocks' },
    'webhooks-private': { kind: 'switch',
      text: 'allow webhooks to private addresses and over plain HTTP; only where every admin may reach those anyway' },
    'audit-file': { kind: 'text', value: 'FILE', unset: 'off',
      text: 'append every audit log entry to this file as a JSON line' },
    'audit-file-size': { kind: 'count', value: 'MIB', unset: '100',
      text: 'size in MiB at which the file is rotated to FILE.1' },
    'audit-file-files': { kind: 'count', unset: '20',
      text: 'number of rotated files to keep' },
    'audit-kafka': { kind: 'text', value: 'HOST:PORT,...', unset: 'off',
      text: 'Kafka brokers to send every audit log entry to; needs @platformatic/kafka' },
    'audit-kafka-topic': { kind: 'text', value: 'TOPIC', default: 'sluice.audit',
      text: 'the topic; it must exist' },
    'audit-kafka-tls': { kind: 'switch',
      text: 'connect to the brokers with TLS' },
    'audit-kafka-sasl': { kind: 'choice', value: 'MECHANISM', choices: ['plain', 'scram-sha-256', 'scram-sha-512'], default: 'scram-sha-512',
      text: 'login mechanism, if there is a user: plain, scram-sha-256 or scram-sha-512' },
    'audit-kafka-user': { kind: 'text', value: 'NAME',
      text: 'the user to log in as' },
    'audit-kafka-password': { kind: 'text',
      text: 'the password of that user; prefer the variable' },
  },
  'Load shedding': {
    'shed-worker': { kind: 'choice', value: 'MODE', choices: ['on', 'shadow', 'off'], default: 'off',
      text: 'on: a busy worker answers 503 to tests from 70 % utilization, reads from 80 %, writes from 90 %; shadow: only counts (docs/shedding.md)' },
    'shed-delay': { kind: 'duration', default: '50ms',
      text: 'mean event loop delay that counts as 100 % utilization' },
    'shed-in-flight': { kind: 'count', unset: 'not considered',
      text: 'number of decisions waiting for the store that counts as 100 % utilization' },
    'shed-latency': { kind: 'duration', unset: 'not considered',
      text: 'mean decision time that counts as 100 % utilization' },
    'shed-after': { kind: 'duration', default: '1s',
      text: 'how long a worker must be too busy before it sheds; shorter far above 100 %' },
    'shed-over': { kind: 'duration', default: '5s',
      text: 'how long it takes to shed all requests of one priority; shorter far above 100 %' },
    'shed-fleet': { kind: 'choice', value: 'MODE', choices: ['on', 'shadow', 'off'], default: 'on',
      text: 'with --shed-capacity: answer 503 to non-critical requests above their share of it; shadow: only counts' },
    'shed-capacity': { kind: 'count', unset: 'unknown: no fleet shedding',
      text: 'requests per second that all nodes on the same Redis can serve together' },
    'shed-reserved': { kind: 'share', default: '0.2',
      text: 'share of the capacity reserved for critical requests' },
  },
} as const satisfies Readonly<Record<Group, Readonly<Record<string, SettingRow>>>>

type Table = typeof TABLE

export type SettingName = { [G in Group]: keyof Table[G] & string }[Group]

/** The row of a setting. */
export type SettingOf<N extends SettingName> = { [G in Group]: N extends keyof Table[G] ? Table[G][N] : never }[Group]

/** What the help calls the value of a kind. */
const VALUES: Partial<Record<SettingKind, string>> = {
  count: 'N',
  duration: 'DURATION',
  port: 'PORT',
  rate: 'N',
  share: 'SHARE',
  text: 'TEXT',
}

/** Adds to a row what follows from its name and kind. */
export function completed(flag: string, row: SettingRow, variables = 'SLUICE_'): Omit<SettingSpec, 'group'> {
  const value = row.value ?? VALUES[row.kind]
  const unset = row.unset ?? (row.kind === 'switch' ? 'off' : 'none')
  return {
    flag,
    env: variables + fileKey(flag).toUpperCase(),
    ...(row.kind !== 'switch' && value !== undefined && { value }),
    ...(row.default === undefined && { unset }),
    ...row,
  }
}

/** Returns every setting, in the order of the table. */
export const SETTINGS = SETTING_GROUPS.flatMap((group) =>
  Object.entries<SettingRow>(TABLE[group]).map(([flag, row]) => ({ group, ...completed(flag, row) })),
) as readonly (SettingSpec & { readonly flag: SettingName })[]

/** Returns the name of a setting in the config file. */
export function fileKey(flag: string): string {
  return flag.replaceAll('-', '_')
}
