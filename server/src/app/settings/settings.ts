import type { SettingKind } from './setting-values.ts'

export const SETTING_GROUPS = ['Rules', 'Counters', 'Doors', 'Process', 'gRPC', 'Answers to Envoy'] as const

/** A SettingSpec is one thing that `sluice serve` can be told, and everything that is known about it. */
export interface SettingSpec {
  readonly group: (typeof SETTING_GROUPS)[number]
  readonly flag: string
  readonly env: string
  /** What its value is, and so how it is read. */
  readonly kind: SettingKind
  /** What the help calls the value. A switch has none. */
  readonly value?: string
  readonly choices?: readonly string[]
  /** The default, spelled as somebody would give it. */
  readonly default?: string
  /** Where there is no such default: what happens when it is not given, in words. */
  readonly unset?: string
  /** One line about it. */
  readonly text: string
}

/**
 * SETTINGS is the one list of what can be told, as a flag, as an environment variable and (the flag's name with _ for -)
 * in the config file. The loader reads settings by it, `--help` is printed from it, and docs/operate.md has its rows. What
 * envoyproxy/ratelimit calls them stands in envoy-settings.ts.
 */
export const SETTINGS = [
  {
    group: 'Rules',
    flag: 'rules',
    env: 'SLUICE_RULES',
    kind: 'paths',
    value: 'FILE|DIR',
    unset: 'the examples',
    text: 'a rule file, or a directory of them; for several, repeat the flag or use commas',
  },
  {
    group: 'Rules',
    flag: 'merge-domains',
    env: 'SLUICE_MERGE_DOMAINS',
    kind: 'switch',
    unset: 'off',
    text: 'files of the same domain are merged into one set of rules',
  },
  {
    group: 'Rules',
    flag: 'shadow-mode',
    env: 'SHADOW_MODE',
    kind: 'switch',
    unset: 'off',
    text: 'every rule counts and reports, none refuses',
  },
  {
    group: 'Counters',
    flag: 'redis',
    env: 'REDIS_URL',
    kind: 'text',
    value: 'URL',
    unset: 'counters in memory',
    text: 'share counters through Redis: redis://, rediss://, redis+sentinel://, redis+cluster://, unix://',
  },
  {
    group: 'Counters',
    flag: 'redis-timeout',
    env: 'SLUICE_REDIS_TIMEOUT',
    kind: 'duration',
    value: 'DURATION',
    default: '5ms',
    text: "how long a decision waits for Redis before the rule's policy answers; a rule's timeout_ms comes first",
  },
  {
    group: 'Counters',
    flag: 'redis-ca',
    env: 'REDIS_TLS_CACERT',
    kind: 'text',
    value: 'FILE',
    unset: "the machine's",
    text: 'TLS: the CA that signed the certificate of Redis',
  },
  {
    group: 'Counters',
    flag: 'redis-cert',
    env: 'REDIS_TLS_CLIENT_CERT',
    kind: 'text',
    value: 'FILE',
    unset: 'none',
    text: 'TLS: our client certificate, if Redis asks for one',
  },
  {
    group: 'Counters',
    flag: 'redis-key',
    env: 'REDIS_TLS_CLIENT_KEY',
    kind: 'text',
    value: 'FILE',
    unset: 'none',
    text: 'TLS: the private key of the client certificate',
  },
  {
    group: 'Counters',
    flag: 'secret',
    env: 'SLUICE_SECRET',
    kind: 'text',
    value: 'TEXT',
    unset: 'none',
    text: 'with Redis: the same text on every node; prefer the variable, other users can see flags',
  },
  {
    group: 'Doors',
    flag: 'grpc-port',
    env: 'GRPC_PORT',
    kind: 'port',
    value: 'PORT',
    default: '8081',
    text: 'gRPC: the rate limit service of Envoy, health checks; 0 picks a free port',
  },
  {
    group: 'Doors',
    flag: 'grpc-host',
    env: 'GRPC_HOST',
    kind: 'text',
    value: 'ADDRESS',
    unset: 'that of --host',
    text: 'address that gRPC listens on',
  },
  {
    group: 'Doors',
    flag: 'grpc-socket',
    env: 'GRPC_UDS',
    kind: 'text',
    value: 'PATH',
    unset: 'none',
    text: 'gRPC on a Unix socket instead of a port',
  },
  {
    group: 'Doors',
    flag: 'http-port',
    env: 'PORT',
    kind: 'port',
    value: 'PORT',
    default: '8080',
    text: 'HTTP: /v1/check, /json, /healthcheck; 0 picks a free port',
  },
  {
    group: 'Doors',
    flag: 'host',
    env: 'HOST',
    kind: 'text',
    value: 'ADDRESS',
    default: '0.0.0.0',
    text: 'address that HTTP listens on',
  },
  {
    group: 'Doors',
    flag: 'admin-port',
    env: 'ADMIN_PORT',
    kind: 'port',
    value: 'PORT',
    default: '8082',
    text: 'for operators: /rlconfig, /stats; 0 picks a free port',
  },
  {
    group: 'Doors',
    flag: 'admin-host',
    env: 'ADMIN_HOST',
    kind: 'text',
    value: 'ADDRESS',
    default: '127.0.0.1',
    text: 'address that the admin port listens on; anyone who can reach it can read all rules',
  },
  {
    group: 'Answers to Envoy',
    flag: 'response-headers',
    env: 'LIMIT_RESPONSE_HEADERS_ENABLED',
    kind: 'switch',
    unset: 'off',
    text: 'ask Envoy to add headers to its responses: the limit, what remains, the seconds until the reset',
  },
  {
    group: 'Answers to Envoy',
    flag: 'limit-header',
    env: 'LIMIT_LIMIT_HEADER',
    kind: 'header',
    value: 'NAME',
    default: 'RateLimit-Limit',
    text: 'name of the response header with the limit',
  },
  {
    group: 'Answers to Envoy',
    flag: 'remaining-header',
    env: 'LIMIT_REMAINING_HEADER',
    kind: 'header',
    value: 'NAME',
    default: 'RateLimit-Remaining',
    text: 'name of the response header with what remains',
  },
  {
    group: 'Answers to Envoy',
    flag: 'reset-header',
    env: 'LIMIT_RESET_HEADER',
    kind: 'header',
    value: 'NAME',
    default: 'RateLimit-Reset',
    text: 'name of the response header with the seconds until the reset',
  },
  {
    group: 'Answers to Envoy',
    flag: 'request-headers',
    env: 'LIMIT_REQUEST_HEADERS_ENABLED',
    kind: 'switch',
    unset: 'off',
    text: 'ask Envoy to add the same headers to the requests that it forwards',
  },
  {
    group: 'Answers to Envoy',
    flag: 'request-limit-header',
    env: 'LIMIT_REQUEST_LIMIT_HEADER',
    kind: 'header',
    value: 'NAME',
    default: 'RateLimit-Limit',
    text: 'name of the request header with the limit',
  },
  {
    group: 'Answers to Envoy',
    flag: 'request-remaining-header',
    env: 'LIMIT_REQUEST_REMAINING_HEADER',
    kind: 'header',
    value: 'NAME',
    default: 'RateLimit-Remaining',
    text: 'name of the request header with what remains',
  },
  {
    group: 'Answers to Envoy',
    flag: 'request-reset-header',
    env: 'LIMIT_REQUEST_RESET_HEADER',
    kind: 'header',
    value: 'NAME',
    default: 'RateLimit-Reset',
    text: 'name of the request header with the seconds until the reset',
  },
  {
    group: 'Answers to Envoy',
    flag: 'dynamic-metadata',
    env: 'RESPONSE_DYNAMIC_METADATA',
    kind: 'switch',
    unset: 'off',
    text: "pass the descriptors of the request and the metadata of the rules to Envoy's other filters",
  },
  {
    group: 'Answers to Envoy',
    flag: 'unit-multipliers',
    env: 'SLUICE_UNIT_MULTIPLIERS',
    kind: 'switch',
    unset: 'off',
    text: 'report a window of 90s as such; needs Envoy 1.40 or newer, an older one reads 1s',
  },
  {
    group: 'gRPC',
    flag: 'grpc-tls',
    env: 'GRPC_SERVER_USE_TLS',
    kind: 'switch',
    unset: 'off',
    text: 'encrypt gRPC; needs --grpc-tls-cert and --grpc-tls-key',
  },
  {
    group: 'gRPC',
    flag: 'grpc-tls-cert',
    env: 'GRPC_SERVER_TLS_CERT',
    kind: 'text',
    value: 'FILE',
    unset: 'none',
    text: 'the server certificate, with its chain',
  },
  {
    group: 'gRPC',
    flag: 'grpc-tls-key',
    env: 'GRPC_SERVER_TLS_KEY',
    kind: 'text',
    value: 'FILE',
    unset: 'none',
    text: 'the private key of the server certificate',
  },
  {
    group: 'gRPC',
    flag: 'grpc-client-ca',
    env: 'GRPC_CLIENT_TLS_CACERT',
    kind: 'text',
    value: 'FILE',
    unset: 'anyone may connect',
    text: 'require client certificates that this CA signed',
  },
  {
    group: 'gRPC',
    flag: 'grpc-client-san',
    env: 'GRPC_CLIENT_TLS_SAN',
    kind: 'text',
    value: 'NAME',
    unset: 'any',
    text: 'require client certificates that are issued to this name',
  },
  {
    group: 'Process',
    flag: 'config',
    env: 'SLUICE_CONFIG',
    kind: 'text',
    value: 'FILE',
    unset: 'none',
    text: 'a YAML file with these settings, such as "http_port: 8080"; flags and variables override it',
  },
  {
    group: 'Process',
    flag: 'workers',
    env: 'SLUICE_WORKERS',
    kind: 'workers',
    value: 'N|auto',
    default: '1',
    text: 'processes that share the ports; auto: one per core. More than one needs Redis',
  },
  {
    group: 'Process',
    flag: 'drain-delay',
    env: 'SLUICE_DRAIN_DELAY',
    kind: 'duration',
    value: 'DURATION',
    default: '0s',
    text: 'on SIGTERM: keep serving this long while health checks fail, so that load balancers notice',
  },
  {
    group: 'Process',
    flag: 'drain-timeout',
    env: 'SLUICE_DRAIN_TIMEOUT',
    kind: 'duration',
    value: 'DURATION',
    default: '10s',
    text: 'after that: how long calls in progress may take before they are cut off',
  },
  {
    group: 'gRPC',
    flag: 'grpc-max-connection-age',
    env: 'GRPC_MAX_CONNECTION_AGE',
    kind: 'duration',
    value: 'DURATION',
    default: '24h',
    text: 'ask gRPC clients to reconnect after this long, give or take a tenth; 0s: never',
  },
  {
    group: 'gRPC',
    flag: 'grpc-max-connection-age-grace',
    env: 'GRPC_MAX_CONNECTION_AGE_GRACE',
    kind: 'duration',
    value: 'DURATION',
    default: '1h',
    text: 'then close the connection this much later',
  },
  {
    group: 'gRPC',
    flag: 'grpc-max-streams',
    env: 'GRPC_MAX_CONCURRENT_STREAMS',
    kind: 'count',
    value: 'N',
    unset: '1024',
    text: 'concurrent calls on one gRPC connection',
  },
  {
    group: 'Process',
    flag: 'health-needs-redis',
    env: 'REDIS_HEALTH_CHECK_ACTIVE_CONNECTION',
    kind: 'switch',
    unset: 'off',
    text: "health checks fail while Redis is unreachable; otherwise they pass, and the rules' policies answer",
  },
  {
    group: 'Process',
    flag: 'log-level',
    env: 'LOG_LEVEL',
    kind: 'level',
    value: 'LEVEL',
    choices: ['debug', 'info', 'warn', 'error'],
    default: 'info',
    text: 'debug, info, warn or error',
  },
  {
    group: 'Process',
    flag: 'log-format',
    env: 'LOG_FORMAT',
    kind: 'choice',
    value: 'FORMAT',
    choices: ['text', 'json'],
    unset: 'text on a terminal, else json',
    text: 'text or json',
  },
] as const satisfies readonly SettingSpec[]

export type SettingName = (typeof SETTINGS)[number]['flag']

/** SettingOf is the row of a setting. */
export type SettingOf<N extends SettingName> = Extract<(typeof SETTINGS)[number], { flag: N }>

/** fileKey is the name of a setting in the config file. */
export function fileKey(flag: string): string {
  return flag.replaceAll('-', '_')
}
