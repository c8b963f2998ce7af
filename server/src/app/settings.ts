/** What a setting's value is; `setting-values.ts` reads each kind. */
export type SettingKind =
  | 'choice'
  | 'count'
  | 'duration'
  | 'header'
  | 'level'
  | 'paths'
  | 'port'
  | 'switch'
  | 'text'
  | 'workers'

export const SETTING_GROUPS = ['Rules', 'Counters', 'Doors', 'Process', 'gRPC', 'Answers to Envoy'] as const

/** A SettingSpec is one thing that `sluice serve` can be told, and everything that is known about it. */
export interface SettingSpec {
  readonly group: (typeof SETTING_GROUPS)[number]
  readonly flag: string
  readonly env: string
  readonly kind: SettingKind
  /** What the help calls the value. A switch has none. */
  readonly value?: string
  readonly choices?: readonly string[]
  /** The default, as the help says it. */
  readonly fallback: string
  readonly text: string
}

/**
 * SETTINGS is the one list of what can be told, as a flag, as an environment variable and (the flag's name with _ for -)
 * in the config file. The loader reads it, and `--help` is printed from it.
 */
export const SETTINGS = [
  {
    group: 'Rules',
    flag: 'rules',
    env: 'SLUICE_RULES',
    kind: 'paths',
    value: 'FILE|DIR',
    fallback: 'the examples',
    text: 'rules: a file, or a directory of them; several: repeat the flag, or use commas',
  },
  {
    group: 'Rules',
    flag: 'merge-domains',
    env: 'SLUICE_MERGE_DOMAINS',
    kind: 'switch',
    fallback: 'off',
    text: 'files of the same domain make one set of rules',
  },
  {
    group: 'Rules',
    flag: 'shadow-mode',
    env: 'SHADOW_MODE',
    kind: 'switch',
    fallback: 'off',
    text: 'every rule counts and reports, none refuses',
  },
  {
    group: 'Counters',
    flag: 'redis',
    env: 'REDIS_URL',
    kind: 'text',
    value: 'URL',
    fallback: 'counters in memory',
    text: 'share counters through Redis: redis://, rediss://, redis+sentinel://, redis+cluster://, unix://',
  },
  {
    group: 'Counters',
    flag: 'redis-timeout',
    env: 'SLUICE_REDIS_TIMEOUT',
    kind: 'duration',
    value: 'DURATION',
    fallback: '5ms',
    text: "how long a decision waits for Redis before the rule's policy answers; a rule's timeout_ms comes first",
  },
  {
    group: 'Counters',
    flag: 'redis-ca',
    env: 'REDIS_TLS_CACERT',
    kind: 'text',
    value: 'FILE',
    fallback: "the machine's",
    text: 'with TLS: the authority that signed the certificate of Redis',
  },
  {
    group: 'Counters',
    flag: 'redis-cert',
    env: 'REDIS_TLS_CLIENT_CERT',
    kind: 'text',
    value: 'FILE',
    fallback: 'none',
    text: 'with TLS: our certificate, where Redis asks for one',
  },
  {
    group: 'Counters',
    flag: 'redis-key',
    env: 'REDIS_TLS_CLIENT_KEY',
    kind: 'text',
    value: 'FILE',
    fallback: 'none',
    text: 'with TLS: the key of that certificate',
  },
  {
    group: 'Counters',
    flag: 'secret',
    env: 'SLUICE_SECRET',
    kind: 'text',
    value: 'TEXT',
    fallback: 'none',
    text: 'with Redis: the same text on every node; better given as a variable, which others cannot see',
  },
  {
    group: 'Doors',
    flag: 'grpc-port',
    env: 'GRPC_PORT',
    kind: 'port',
    value: 'PORT',
    fallback: '8081',
    text: 'gRPC: the rate limit service of Envoy, health checks; 0 picks a free port',
  },
  {
    group: 'Doors',
    flag: 'grpc-host',
    env: 'GRPC_HOST',
    kind: 'text',
    value: 'ADDRESS',
    fallback: 'that of --host',
    text: 'address that gRPC listens on',
  },
  {
    group: 'Doors',
    flag: 'grpc-socket',
    env: 'GRPC_UDS',
    kind: 'text',
    value: 'PATH',
    fallback: 'none',
    text: 'gRPC on a Unix socket instead of a port',
  },
  {
    group: 'Doors',
    flag: 'http-port',
    env: 'PORT',
    kind: 'port',
    value: 'PORT',
    fallback: '8080',
    text: 'HTTP: /v1/check, /json, /healthcheck; 0 picks a free port',
  },
  {
    group: 'Doors',
    flag: 'host',
    env: 'HOST',
    kind: 'text',
    value: 'ADDRESS',
    fallback: '0.0.0.0',
    text: 'address that HTTP listens on',
  },
  {
    group: 'Doors',
    flag: 'admin-port',
    env: 'ADMIN_PORT',
    kind: 'port',
    value: 'PORT',
    fallback: '8082',
    text: 'for operators: /rlconfig, /stats; 0 picks a free port',
  },
  {
    group: 'Doors',
    flag: 'admin-host',
    env: 'ADMIN_HOST',
    kind: 'text',
    value: 'ADDRESS',
    fallback: '127.0.0.1',
    text: 'address that it listens on; whoever reaches it may look at all rules',
  },
  {
    group: 'Answers to Envoy',
    flag: 'response-headers',
    env: 'LIMIT_RESPONSE_HEADERS_ENABLED',
    kind: 'switch',
    fallback: 'off',
    text: 'have Envoy add the limit, what remains of it and the seconds until it is back to its answers',
  },
  {
    group: 'Answers to Envoy',
    flag: 'limit-header',
    env: 'LIMIT_LIMIT_HEADER',
    kind: 'header',
    value: 'NAME',
    fallback: 'RateLimit-Limit',
    text: 'name of the first of them',
  },
  {
    group: 'Answers to Envoy',
    flag: 'remaining-header',
    env: 'LIMIT_REMAINING_HEADER',
    kind: 'header',
    value: 'NAME',
    fallback: 'RateLimit-Remaining',
    text: 'name of the second',
  },
  {
    group: 'Answers to Envoy',
    flag: 'reset-header',
    env: 'LIMIT_RESET_HEADER',
    kind: 'header',
    value: 'NAME',
    fallback: 'RateLimit-Reset',
    text: 'name of the third',
  },
  {
    group: 'Answers to Envoy',
    flag: 'request-headers',
    env: 'LIMIT_REQUEST_HEADERS_ENABLED',
    kind: 'switch',
    fallback: 'off',
    text: 'have Envoy add the same to the requests that it passes on',
  },
  {
    group: 'Answers to Envoy',
    flag: 'request-limit-header',
    env: 'LIMIT_REQUEST_LIMIT_HEADER',
    kind: 'header',
    value: 'NAME',
    fallback: 'RateLimit-Limit',
    text: 'name of the first there',
  },
  {
    group: 'Answers to Envoy',
    flag: 'request-remaining-header',
    env: 'LIMIT_REQUEST_REMAINING_HEADER',
    kind: 'header',
    value: 'NAME',
    fallback: 'RateLimit-Remaining',
    text: 'name of the second',
  },
  {
    group: 'Answers to Envoy',
    flag: 'request-reset-header',
    env: 'LIMIT_REQUEST_RESET_HEADER',
    kind: 'header',
    value: 'NAME',
    fallback: 'RateLimit-Reset',
    text: 'name of the third',
  },
  {
    group: 'Answers to Envoy',
    flag: 'dynamic-metadata',
    env: 'RESPONSE_DYNAMIC_METADATA',
    kind: 'switch',
    fallback: 'off',
    text: "tell Envoy's other filters what was asked, and the metadata of the rules",
  },
  {
    group: 'Answers to Envoy',
    flag: 'unit-multipliers',
    env: 'SLUICE_UNIT_MULTIPLIERS',
    kind: 'switch',
    fallback: 'off',
    text: 'tell a window of 90s as such; for Envoy 1.40 and newer, an older one would read 1s',
  },
  {
    group: 'gRPC',
    flag: 'grpc-tls',
    env: 'GRPC_SERVER_USE_TLS',
    kind: 'switch',
    fallback: 'off',
    text: 'encrypt gRPC; needs the next two',
  },
  {
    group: 'gRPC',
    flag: 'grpc-tls-cert',
    env: 'GRPC_SERVER_TLS_CERT',
    kind: 'text',
    value: 'FILE',
    fallback: 'none',
    text: 'our certificate, with its chain',
  },
  {
    group: 'gRPC',
    flag: 'grpc-tls-key',
    env: 'GRPC_SERVER_TLS_KEY',
    kind: 'text',
    value: 'FILE',
    fallback: 'none',
    text: 'its key',
  },
  {
    group: 'gRPC',
    flag: 'grpc-client-ca',
    env: 'GRPC_CLIENT_TLS_CACERT',
    kind: 'text',
    value: 'FILE',
    fallback: 'anyone may connect',
    text: 'ask callers for a certificate that this authority signed',
  },
  {
    group: 'gRPC',
    flag: 'grpc-client-san',
    env: 'GRPC_CLIENT_TLS_SAN',
    kind: 'text',
    value: 'NAME',
    fallback: 'any',
    text: 'and that is made out to this name',
  },
  {
    group: 'Process',
    flag: 'config',
    env: 'SLUICE_CONFIG',
    kind: 'text',
    value: 'FILE',
    fallback: 'none',
    text: 'a YAML file of these settings, such as "http_port: 8080"; flags and variables come before it',
  },
  {
    group: 'Process',
    flag: 'workers',
    env: 'SLUICE_WORKERS',
    kind: 'workers',
    value: 'N|auto',
    fallback: '1',
    text: 'processes that share the ports; auto: one for each core. More than one needs Redis',
  },
  {
    group: 'Process',
    flag: 'worker-timeout',
    env: 'SLUICE_WORKER_TIMEOUT',
    kind: 'duration',
    value: 'DURATION',
    fallback: '10s',
    text: 'a worker that does not answer for so long is killed and replaced; 0s: never',
  },
  {
    group: 'Process',
    flag: 'drain-delay',
    env: 'SLUICE_DRAIN_DELAY',
    kind: 'duration',
    value: 'DURATION',
    fallback: '0s',
    text: 'on SIGTERM: go on serving for so long while health says no, so that balancers notice',
  },
  {
    group: 'Process',
    flag: 'drain-timeout',
    env: 'SLUICE_DRAIN_TIMEOUT',
    kind: 'duration',
    value: 'DURATION',
    fallback: '10s',
    text: 'after that: how long calls under way may take before they are cut off',
  },
  {
    group: 'gRPC',
    flag: 'grpc-max-connection-age',
    env: 'GRPC_MAX_CONNECTION_AGE',
    kind: 'duration',
    value: 'DURATION',
    fallback: '24h',
    text: 'have gRPC clients connect anew after so long, give or take a tenth; 0s: never',
  },
  {
    group: 'gRPC',
    flag: 'grpc-max-connection-age-grace',
    env: 'GRPC_MAX_CONNECTION_AGE_GRACE',
    kind: 'duration',
    value: 'DURATION',
    fallback: '1h',
    text: 'and cut them off so much later',
  },
  {
    group: 'gRPC',
    flag: 'grpc-max-streams',
    env: 'GRPC_MAX_CONCURRENT_STREAMS',
    kind: 'count',
    value: 'N',
    fallback: '1024',
    text: 'calls that may be under way at once on a gRPC connection',
  },
  {
    group: 'gRPC',
    flag: 'grpc-max-connections',
    env: 'SLUICE_GRPC_MAX_CONNECTIONS',
    kind: 'count',
    value: 'N',
    fallback: '20000',
    text: 'gRPC connections of a process; when all are taken, idle ones of the address with the most have to go',
  },
  {
    group: 'gRPC',
    flag: 'grpc-max-held',
    env: 'SLUICE_GRPC_MAX_HELD',
    kind: 'count',
    value: 'MIB',
    fallback: '64',
    text: 'MiB that a process holds for gRPC clients; past it, connections that hold the most are ended',
  },
  {
    group: 'Process',
    flag: 'health-needs-redis',
    env: 'REDIS_HEALTH_CHECK_ACTIVE_CONNECTION',
    kind: 'switch',
    fallback: 'off',
    text: "health says no while Redis cannot be reached; otherwise the rules' policies answer, and it says yes",
  },
  {
    group: 'Process',
    flag: 'log-level',
    env: 'LOG_LEVEL',
    kind: 'level',
    value: 'LEVEL',
    choices: ['debug', 'info', 'warn', 'error'],
    fallback: 'info',
    text: 'debug, info, warn or error',
  },
  {
    group: 'Process',
    flag: 'log-format',
    env: 'LOG_FORMAT',
    kind: 'choice',
    value: 'FORMAT',
    choices: ['text', 'json'],
    fallback: 'text on a terminal, else json',
    text: 'text or json',
  },
] as const satisfies readonly SettingSpec[]

export type SettingName = (typeof SETTINGS)[number]['flag']

/** fileKey is the name of a setting in the config file. */
export function fileKey(flag: string): string {
  return flag.replaceAll('-', '_')
}
