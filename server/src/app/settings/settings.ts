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

/** A SettingRow is one setting. What follows from its name and kind is left out. */
export interface SettingRow {
  /** What its value is, and so how it is read. */
  readonly kind: SettingKind
  /** Its variable, where that is not SLUICE_ and the flag in capitals. */
  readonly env?: string
  /** Another variable that people would guess. */
  readonly alias?: string
  /** What the help calls the value, where its kind does not say it. */
  readonly value?: string
  readonly choices?: readonly string[]
  /** The default, as a person would give it. */
  readonly default?: string
  /** Without a default: what happens when it is not set, in words. 'none', or 'off' for a switch, where it is left out. */
  readonly unset?: string
  /** One line about it. */
  readonly text: string
}

/** A SettingSpec is one setting of `sluice serve`, complete. A switch has no `value`. */
export interface SettingSpec extends SettingRow {
  readonly group: Group
  readonly flag: string
  readonly env: string
}

/**
 * TABLE is the one list of settings. Each is a flag, an environment variable and, with _ for -, a key of the config file. The loader reads
 * settings by it, `--help` is printed from it, and docs/operate.md has its rows. What envoyproxy/ratelimit calls them is in
 * envoy-settings.ts. A setting that no code reads fails a test.
 */
// biome-ignore format: two lines a setting
const TABLE = {
  Rules: {
    rules: { kind: 'paths', value: 'FILE|DIR|URL', unset: 'none: it does not start',
      text: 'a rule file, a directory of them, or the http(s) address of one; for several, repeat the flag or use commas' },
    'rules-poll': { kind: 'duration', default: '30s',
      text: 'how often rules at an address are asked for, give or take a tenth; at least 1s' },
    'rules-timeout': { kind: 'duration', default: '10s',
      text: 'how long an address may take to send its rules, or a control plane to accept a connection' },
    'rules-token': { kind: 'text',
      text: 'what addresses of rules are shown, as "Authorization: Bearer TEXT"; prefer the variable, or the file' },
    'rules-token-file': { kind: 'text', value: 'FILE',
      text: 'a file with that token, read anew each time' },
    'rules-ca': { kind: 'text', value: 'FILE', unset: "the machine's",
      text: 'TLS: one more CA, for addresses of rules and for a control plane' },
    'rules-cert': { kind: 'text', value: 'FILE',
      text: 'TLS: our client certificate, if they ask for one; changed files are used for the next connection' },
    'rules-key': { kind: 'text', value: 'FILE',
      text: 'TLS: the private key of the client certificate' },
    'start-without-rules': { kind: 'switch',
      text: 'start, and limit nothing, where rules of an address or a control plane are not there yet' },
    'rules-xds': { kind: 'text', value: 'HOST:PORT',
      text: "a control plane that sends rules over xDS, as Envoy Gateway's (docs/rules-sources.md)" },
    'rules-xds-tls': { kind: 'switch',
      text: 'TLS to the control plane; --rules-ca, --rules-cert and --rules-key are for it, too' },
    'rules-xds-name': { kind: 'text', value: 'NAME', unset: 'its host',
      text: 'whom the certificate of the control plane is made out to' },
    'rules-xds-node': { kind: 'text', value: 'ID', default: 'default',
      text: 'by which id the control plane knows us: it has rules for some ids only' },
    'rules-xds-metadata': { kind: 'text', value: 'KEY=VALUE,…',
      text: 'what else it is told of us' },
    'rules-xds-headers': { kind: 'text', value: 'NAME:VALUE,…',
      text: 'headers of the call to it; prefer the variable for what is secret' },
    'rules-xds-max-message': { kind: 'count', value: 'BYTES', unset: '8388608',
      text: 'bytes of one message: all rules are one; up to 67108864' },
    'rules-xds-backoff': { kind: 'duration', default: '1s',
      text: 'the first pause before it is connected to anew; pauses double, and up to half of each is left out by chance' },
    'rules-xds-backoff-max': { kind: 'duration', default: '30s',
      text: 'the longest of these pauses' },
    examples: { kind: 'switch',
      text: 'where no rules are given: the examples that come with it, to try it out; the doors then listen on loopback unless --host says otherwise' },
    'merge-domains': { kind: 'switch',
      text: 'files of the same domain are merged into one set of rules' },
    compatibility: { kind: 'choice', value: 'SERVICE', choices: ['envoyproxy-ratelimit'],
      text: 'answer as another service does: envoyproxy-ratelimit (docs/migrate-from-envoy-ratelimit.md)' },
    'shadow-mode': { kind: 'switch', env: 'SHADOW_MODE',
      text: 'every rule counts and reports, none refuses' },
  },
  Counters: {
    redis: { kind: 'text', env: 'REDIS_URL', value: 'URL', unset: 'counters in memory',
      text: 'share counters through Redis: redis://, rediss://, redis+sentinel://, redis+cluster://, unix://' },
    'redis-timeout': { kind: 'duration', default: '5ms',
      text: "how long a decision waits for Redis before the rule's policy answers; a rule's timeout_ms comes first" },
    'key-prefix': { kind: 'text',
      text: 'what keys in Redis begin with; services with other prefixes share nothing' },
    keys: { kind: 'choice', value: 'FORM', choices: ['readable', 'compact'], default: 'readable',
      text: 'readable or compact: short hashes under SLUICE_SECRET, for less memory in Redis; the same on every node' },
    'redis-ca': { kind: 'text', env: 'REDIS_TLS_CACERT', value: 'FILE', unset: "the machine's",
      text: 'TLS: the CA that signed the certificate of Redis' },
    'redis-cert': { kind: 'text', env: 'REDIS_TLS_CLIENT_CERT', value: 'FILE',
      text: 'TLS: our client certificate, if Redis asks for one' },
    'redis-key': { kind: 'text', env: 'REDIS_TLS_CLIENT_KEY', value: 'FILE',
      text: 'TLS: the private key of the client certificate' },
    secret: { kind: 'text',
      text: 'with Redis or a database: the same text on every node; prefer the variable, other users can see flags' },
  },
  Doors: {
    'grpc-port': { kind: 'port', env: 'GRPC_PORT', default: '8081',
      text: 'gRPC: the rate limit service of Envoy, health checks; 0 picks a free port' },
    'grpc-host': { kind: 'text', env: 'GRPC_HOST', value: 'ADDRESS', unset: 'that of --host',
      text: 'address that gRPC listens on' },
    'grpc-socket': { kind: 'text', env: 'GRPC_UDS', value: 'PATH',
      text: 'gRPC on a Unix socket instead of a port' },
    'http-port': { kind: 'port', env: 'PORT', default: '8080',
      text: 'HTTP: /v1/check, /json, probes; 0 picks a free port' },
    host: { kind: 'text', env: 'HOST', value: 'ADDRESS', default: '0.0.0.0',
      text: 'address that HTTP listens on' },
    'admin-port': { kind: 'port', env: 'ADMIN_PORT', default: '8082',
      text: 'for operators: the admin API, /metrics, /rlconfig, /stats, probes; 0 picks a free port' },
    'admin-host': { kind: 'text', env: 'ADMIN_HOST', value: 'ADDRESS', default: '127.0.0.1',
      text: 'address that the admin port listens on; another than loopback needs a token of the admin API' },
    'admin-names': { kind: 'hosts', value: 'NAMES', unset: 'addresses, localhost',
      text: 'host names that the admin port answers to, beside addresses, localhost and --admin-host; use commas' },
    'admin-token': { kind: 'text',
      text: 'a token of the admin API, as TOKEN for an admin or ROLE:TOKEN (viewer, operator); for several, use commas; prefer the variable' },
    'metrics-open': { kind: 'switch',
      text: '/metrics on the admin port needs no token, from any machine that reaches the port' },
    'stats-open': { kind: 'switch',
      text: '/stats, /rlconfig and the busiest keys on the admin port need no token, from any machine that reaches the port' },
    'customer-usage': { kind: 'switch',
      text: 'customers see their own usage at GET /v1/usage of the HTTP port, with their API key' },
    token: { kind: 'text', alias: 'SLUICE_HTTP_TOKEN', unset: 'anyone may call',
      text: 'callers over HTTP and gRPC have to show this token, and are trusted; for several, use commas; prefer the variable' },
    'trust-callers': { kind: 'switch',
      text: 'without a token: anyone who can reach a port may give back (cost below 0) and bring limits' },
  },
  Process: {
    config: { kind: 'text', value: 'FILE',
      text: 'a YAML file with these settings, such as "http_port: 8080"; flags and variables override it' },
    workers: { kind: 'workers', value: 'N|auto', default: '1',
      text: 'processes that share the ports; auto: one per core. More than one needs Redis' },
    'worker-timeout': { kind: 'duration', default: '10s',
      text: 'a worker that does not answer for so long is killed and replaced; 0s: never' },
    'drain-delay': { kind: 'duration', default: '0s',
      text: 'on SIGTERM: keep serving this long while health checks fail, so that load balancers notice' },
    'drain-timeout': { kind: 'duration', default: '10s',
      text: 'after that: how long calls in progress may take before they are cut off' },
    'health-needs-redis': { kind: 'switch', env: 'REDIS_HEALTH_CHECK_ACTIVE_CONNECTION',
      text: "health checks fail while Redis is unreachable; otherwise they pass, and the rules' policies answer" },
    'health-needs-rules': { kind: 'switch', env: 'HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED',
      text: 'health checks fail while no rules are in force, as where a control plane has sent none' },
    'node-name': { kind: 'name', value: 'NAME', unset: 'the host name, with the admin port unless that is 8082',
      text: 'what this node is called where nodes are listed; give each its own, the same after a restart' },
    'log-level': { kind: 'level', env: 'LOG_LEVEL', value: 'LEVEL', choices: ['debug', 'info', 'warn', 'error'], default: 'info',
      text: 'debug, info, warn or error' },
    'log-format': { kind: 'choice', env: 'LOG_FORMAT', value: 'FORMAT', choices: ['text', 'json'], unset: 'text on a terminal, else json',
      text: 'text or json' },
    'decision-log': { kind: 'text', value: 'stdout|FILE', unset: 'off',
      text: 'a line of JSON for each refusal, up to a rate, and for a share of other decisions (docs/observability.md)' },
    'decision-log-refusals': { kind: 'rate', unset: '100',
      text: 'refusals that a process writes in a second, 0 for none; those beyond are counted in the next line' },
    'decision-log-share': { kind: 'share', default: '0',
      text: 'the share of all other decisions that is written, from 0 to 1, such as 0.01' },
    'decision-log-size': { kind: 'count', value: 'MIB', unset: '100',
      text: 'MiB after which the file is put aside, as FILE.1, and another is begun' },
    'decision-log-files': { kind: 'count', unset: '5',
      text: 'files that are kept beside the one that is written; the oldest goes' },
    region: { kind: 'text', value: 'NAME',
      text: 'where this node runs, as the decision log tells it' },
  },
  gRPC: {
    'grpc-tls': { kind: 'switch', env: 'GRPC_SERVER_USE_TLS',
      text: 'encrypt gRPC; needs --grpc-tls-cert and --grpc-tls-key' },
    'grpc-tls-cert': { kind: 'text', env: 'GRPC_SERVER_TLS_CERT', value: 'FILE',
      text: 'the server certificate, with its chain' },
    'grpc-tls-key': { kind: 'text', env: 'GRPC_SERVER_TLS_KEY', value: 'FILE',
      text: 'the private key of the server certificate' },
    'grpc-client-ca': { kind: 'text', env: 'GRPC_CLIENT_TLS_CACERT', value: 'FILE', unset: 'anyone may connect',
      text: 'require client certificates that this CA signed' },
    'grpc-client-san': { kind: 'text', env: 'GRPC_CLIENT_TLS_SAN', value: 'NAME', unset: 'any',
      text: 'require client certificates that are issued to this name' },
    'grpc-max-connection-age': { kind: 'duration', env: 'GRPC_MAX_CONNECTION_AGE', default: '24h',
      text: 'ask gRPC clients to reconnect after this long, give or take a tenth; 0s: never' },
    'grpc-max-connection-age-grace': { kind: 'duration', env: 'GRPC_MAX_CONNECTION_AGE_GRACE', default: '1h',
      text: 'then close the connection this much later' },
    'grpc-max-streams': { kind: 'count', unset: '1024',
      text: 'concurrent calls on one gRPC connection' },
    'grpc-max-connections': { kind: 'count', unset: '20000',
      text: 'gRPC connections of a process; when all are taken, idle ones of the address with the most have to go' },
    'grpc-max-held': { kind: 'count', value: 'MIB', unset: '64',
      text: 'MiB that a process holds for gRPC clients; past it, connections that hold the most are ended' },
  },
  'Answers to Envoy': {
    'response-headers': { kind: 'switch', env: 'LIMIT_RESPONSE_HEADERS_ENABLED',
      text: 'ask Envoy to add headers to its responses: the limit, what remains, the seconds until the reset' },
    'limit-header': { kind: 'header', env: 'LIMIT_LIMIT_HEADER', value: 'NAME', default: 'RateLimit-Limit',
      text: 'name of the response header with the limit' },
    'remaining-header': { kind: 'header', env: 'LIMIT_REMAINING_HEADER', value: 'NAME', default: 'RateLimit-Remaining',
      text: 'name of the response header with what remains' },
    'reset-header': { kind: 'header', env: 'LIMIT_RESET_HEADER', value: 'NAME', default: 'RateLimit-Reset',
      text: 'name of the response header with the seconds until the reset' },
    'request-headers': { kind: 'switch',
      text: 'ask Envoy to add the same headers to the requests that it forwards' },
    'request-limit-header': { kind: 'header', value: 'NAME', default: 'RateLimit-Limit',
      text: 'name of the request header with the limit' },
    'request-remaining-header': { kind: 'header', value: 'NAME', default: 'RateLimit-Remaining',
      text: 'name of the request header with what remains' },
    'request-reset-header': { kind: 'header', value: 'NAME', default: 'RateLimit-Reset',
      text: 'name of the request header with the seconds until the reset' },
    'dynamic-metadata': { kind: 'switch', env: 'RESPONSE_DYNAMIC_METADATA',
      text: "pass the descriptors of the request and the metadata of the rules to Envoy's other filters" },
    'unit-multipliers': { kind: 'switch',
      text: 'report a window of 90s as such; needs Envoy 1.40 or newer, an older one reads 1s' },
  },
  Metrics: {
    metrics: { kind: 'choice', value: 'on|off', choices: ['on', 'off'], default: 'on',
      text: 'count for Prometheus, at /metrics of the admin port (docs/observability.md)' },
    'metrics-max-rules': { kind: 'count', unset: '1000',
      text: 'rules with series of their own, in the order of the files; all others are counted together, as other' },
    prometheus: { kind: 'switch', env: 'USE_PROMETHEUS',
      text: 'serve the metrics, and nothing else, at another address too' },
    'prometheus-address': { kind: 'address', env: 'PROMETHEUS_ADDR', value: 'HOST:PORT', default: ':9090',
      text: 'with --prometheus: that address; without a host, every address of the machine' },
    'prometheus-path': { kind: 'text', env: 'PROMETHEUS_PATH', value: 'PATH', default: '/metrics',
      text: 'with --prometheus: the path' },
    statsd: { kind: 'switch', env: 'USE_STATSD', unset: 'off, on where --statsd-host is given',
      text: 'send counts to StatsD over TCP, by the names of envoyproxy/ratelimit' },
    'dog-statsd': { kind: 'switch', env: 'USE_DOG_STATSD',
      text: 'the same to DogStatsD, over UDP and with tags' },
    'statsd-host': { kind: 'text', env: 'STATSD_HOST', value: 'HOST', unset: 'localhost',
      text: 'where StatsD is' },
    'statsd-port': { kind: 'port', env: 'STATSD_PORT', default: '8125',
      text: 'port of StatsD' },
    'statsd-interval': { kind: 'duration', env: 'STATS_FLUSH_INTERVAL', default: '10s',
      text: 'how often counts are sent' },
    'statsd-tags': { kind: 'tags', env: 'EXTRA_TAGS', value: 'K:V,...',
      text: 'tags that are sent with every count' },
    'hot-keys': { kind: 'choice', value: 'ON|OFF', choices: ['on', 'off'], default: 'on',
      text: 'know the keys that each rule refuses most and is asked about most (docs/observability.md)' },
    'hot-key-share': { kind: 'count', value: 'PERCENT', unset: '50',
      text: "a key with more than this share of a rule's requests in a minute is logged; 100: none is" },
    'hot-key-min': { kind: 'count', unset: '1000',
      text: 'if it has at least so many requests in that minute' },
  },
  Quotas: {
    database: { kind: 'text', env: 'DATABASE_URL', value: 'URL',
      text: 'customers and their quotas, in PostgreSQL: postgres://user:password@host/name; prefer the variable' },
    'database-listen': { kind: 'text', value: 'URL', unset: 'the address of the database',
      text: 'where changes are heard of: the server itself, if the database is reached through PgBouncer' },
    data: { kind: 'text', value: 'DIR',
      text: 'without a database: customers and their quotas in this directory, for one node; with one: the end of the audit log' },
    'first-token-file': { kind: 'text', value: 'FILE', unset: 'first-token in --data, else none',
      text: 'where the first token of the admin API is written, readable by this user only; `sluice token first` prints it' },
    'ready-within': { kind: 'duration', default: '60s',
      text: 'with a database: how long a node is not ready while not all of its processes have the records; then it is ready, and degraded' },
    'api-key-entries': { kind: 'paths', value: 'KEYS', default: 'api_key,x-api-key',
      text: 'keys of entries whose value is an API key; with commas between them' },
    'customer-entries': { kind: 'paths', value: 'KEYS', default: 'customer,customer_id,tenant',
      text: 'keys of entries whose value is the id of a customer' },
    'address-entries': { kind: 'paths', value: 'KEYS', default: 'remote_address,ip',
      text: 'keys of entries whose value is an address, for blocks' },
    'webhooks-private': { kind: 'switch',
      text: 'webhooks may go to private addresses and over plain HTTP; only where every admin may reach those anyway' },
    'audit-file': { kind: 'text', value: 'FILE', unset: 'off',
      text: 'a file of this node that gets every entry of the audit log, as a line of JSON' },
    'audit-file-size': { kind: 'count', value: 'MIB', unset: '100',
      text: 'MiB after which the file is put aside, as FILE.1, and another is begun' },
    'audit-file-files': { kind: 'count', unset: '20',
      text: 'files that are kept beside the one that is written; the oldest goes' },
    'audit-kafka': { kind: 'text', value: 'HOST:PORT,...', unset: 'off',
      text: 'brokers of a Kafka that gets every entry of the audit log; needs @platformatic/kafka' },
    'audit-kafka-topic': { kind: 'text', value: 'TOPIC', default: 'sluice.audit',
      text: 'the topic, which has to be there' },
    'audit-kafka-tls': { kind: 'switch',
      text: 'connect to the brokers with TLS' },
    'audit-kafka-sasl': { kind: 'choice', value: 'MECHANISM', choices: ['plain', 'scram-sha-256', 'scram-sha-512'], default: 'scram-sha-512',
      text: 'how to log in, where there is a user: plain, scram-sha-256 or scram-sha-512' },
    'audit-kafka-user': { kind: 'text', value: 'NAME',
      text: 'the user to log in as' },
    'audit-kafka-password': { kind: 'text',
      text: 'the password of that user; prefer the variable' },
  },
  'Load shedding': {
    'shed-worker': { kind: 'choice', value: 'MODE', choices: ['on', 'shadow', 'off'], default: 'off',
      text: 'on: a busy worker answers 503, to tests from 70 %, reads 80 %, writes 90 %; shadow: counts what it would (docs/shedding.md)' },
    'shed-delay': { kind: 'duration', default: '50ms',
      text: 'the mean delay of the event loop at which a worker is used to 100 %' },
    'shed-in-flight': { kind: 'count', unset: 'they do not matter',
      text: 'decisions that wait for the store at which a worker is used to 100 %' },
    'shed-latency': { kind: 'duration', unset: 'it does not matter',
      text: 'the mean time of a decision at which a worker is used to 100 %' },
    'shed-after': { kind: 'duration', default: '1s',
      text: 'how long a worker has to be too busy before it sheds; far above 100 % it is less' },
    'shed-over': { kind: 'duration', default: '5s',
      text: 'how long it takes to shed all requests of one priority; far above 100 % it is less' },
    'shed-fleet': { kind: 'choice', value: 'MODE', choices: ['on', 'shadow', 'off'], default: 'on',
      text: 'with --shed-capacity: 503 for what is not critical and above the share of it; shadow: counts what it would' },
    'shed-capacity': { kind: 'count', unset: 'nobody knows it, and the fleet sheds nothing',
      text: 'requests a second that all nodes on the same Redis can serve together' },
    'shed-reserved': { kind: 'share', default: '0.2',
      text: 'the share of the capacity that is kept for critical requests' },
  },
} as const satisfies Readonly<Record<Group, Readonly<Record<string, SettingRow>>>>

type Table = typeof TABLE

export type SettingName = { [G in Group]: keyof Table[G] & string }[Group]

/** SettingOf is the row of a setting. */
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

/** completed adds to a row what follows from its name and kind. */
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

/** SETTINGS is every setting, in the order of the table. */
export const SETTINGS = SETTING_GROUPS.flatMap((group) =>
  Object.entries<SettingRow>(TABLE[group]).map(([flag, row]) => ({ group, ...completed(flag, row) })),
) as readonly (SettingSpec & { readonly flag: SettingName })[]

/** fileKey is the name of a setting in the config file. */
export function fileKey(flag: string): string {
  return flag.replaceAll('-', '_')
}
