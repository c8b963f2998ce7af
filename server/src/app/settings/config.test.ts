import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'

const FLAG_RULE = 'Run the command with --help to list its flags.'
const PORT_RULE = 'A port must be a whole number from 0 to 65535; 0 picks a free one.'
const SWITCH_RULE = 'A switch must be true or false.'
const VALUE_RULE = 'Give the value as --flag VALUE or --flag=VALUE.'

const TLS_RULE =
  'Give the certificate and the key together; a required client name also needs the certificate authority.'

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url))

function messageOf(args: string[], env: Record<string, string> = {}): string {
  try {
    return JSON.stringify(readConfig(args, env))
  } catch (error) {
    return (error as Error).message
  }
}

describe('readConfig', () => {
  it.each<[string, string[], Record<string, string>, object]>([
    ['has defaults', [], {}, { host: '0.0.0.0', httpPort: 8080 }],
    ['reads flags', ['--host', '::1', '--http-port', '0'], {}, { host: '::1', httpPort: 0 }],
    ['reads flags with an equals sign', ['--host=::1', '--http-port=65535'], {}, { host: '::1', httpPort: 65_535 }],
    ['reads the environment', [], { HOST: '10.0.0.1', PORT: '9000' }, { host: '10.0.0.1', httpPort: 9000 }],
    ['prefers a flag to the environment', ['--http-port', '1'], { PORT: '2' }, { httpPort: 1 }],
    ['has ports for each door', [], {}, { httpPort: 8080, grpc: { port: 8081 }, adminPort: 8082 }],
    ['keeps the admin port to this machine', [], {}, { adminHost: '127.0.0.1' }],
    ['has gRPC listen where HTTP does', ['--host', '::1'], {}, { grpc: { host: '::1' } }],
    ['has gRPC listen elsewhere', [], { HOST: '::1', GRPC_HOST: '::' }, { host: '::1', grpc: { host: '::' } }],
    ['takes a Unix socket for gRPC', [], { GRPC_UDS: '/run/a.sock' }, { grpc: { socketPath: '/run/a.sock' } }],
    [
      'calls the debug port admin port',
      [],
      { DEBUG_PORT: '6070', DEBUG_HOST: '::' },
      { adminPort: 6070, adminHost: '::' },
    ],
    ['prefers its own names', [], { DEBUG_PORT: '6070', ADMIN_PORT: '1' }, { adminPort: 1 }],
    ['prefers a flag to other names', ['--admin-port', '2'], { DEBUG_PORT: '6070' }, { adminPort: 2 }],
    ['reads MERGE_DOMAIN_CONFIG', [], { MERGE_DOMAIN_CONFIG: 'TRUE' }, { mergeDomains: true }],
    [
      'reads switches as Go does',
      [],
      { SHADOW_MODE: 't', MERGE_DOMAIN_CONFIG: 'F' },
      { shadowMode: true, mergeDomains: false },
    ],
    ['reads levels of other loggers', [], { LOG_LEVEL: 'WARNING' }, { logLevel: 'warn' }],
    ['reads trace as debug', [], { LOG_LEVEL: 'trace' }, { logLevel: 'debug' }],
    ['logs from info on', [], {}, { logLevel: 'info', logFormat: undefined }],
    [
      'reads durations',
      ['--drain-delay', '5s', '--redis-timeout=20ms'],
      {},
      { drainDelayMs: 5_000, redisTimeoutMs: 20 },
    ],
    ['reads a prefix of keys', ['--key-prefix', 'a:'], { CACHE_KEY_PREFIX: 'b:' }, { keyPrefix: 'a:' }],
    ['reads it as envoyproxy/ratelimit does', [], { CACHE_KEY_PREFIX: 'b:' }, { keyPrefix: 'b:' }],
    ['drains without a delay, for 10 s at most', [], {}, { drainDelayMs: 0, drainTimeoutMs: 10_000 }],
    ['reads a plain 0 as a duration', [], { GRPC_MAX_CONNECTION_AGE: '0' }, { grpc: { maxConnectionAgeMs: 0 } }],
    ['asks for no headers', [], { LIMIT_LIMIT_HEADER: 'X-Limit' }, { responseHeaders: undefined }],
    [
      'asks for headers by their names',
      [],
      { LIMIT_RESPONSE_HEADERS_ENABLED: 'true', LIMIT_LIMIT_HEADER: 'X-Limit' },
      { responseHeaders: { limit: 'X-Limit', remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' } },
    ],
    ['has one worker', [], {}, { workers: 1 }],
    ['takes one worker without Redis', ['--workers', '1'], {}, { workers: 1 }],
    ['takes several with Redis', ['--workers', '3', '--redis', 'redis://a'], {}, { workers: 3 }],
    ['has a worker for each core', ['--workers', 'auto'], { REDIS_URL: 'a:1' }, { workers: availableParallelism() }],
    ['has streams of the default number', [], { SLUICE_GRPC_MAX_STREAMS: '0' }, { grpc: { maxStreams: undefined } }],
    [
      'bounds what gRPC clients may take',
      ['--grpc-max-connections', '500', '--grpc-max-held', '16'],
      {},
      { grpc: { maxConnections: 500, maxHeldMib: 16 } },
    ],
    ['finds rules below RUNTIME_ROOT', [], { RUNTIME_ROOT: '/data' }, { rules: ['/data/config'], isExample: false }],
    [
      'finds rules where all parts of the path say',
      [],
      { RUNTIME_ROOT: '/data/', RUNTIME_SUBDIRECTORY: 'ratelimit', RUNTIME_APPDIRECTORY: 'rules' },
      { rules: ['/data/ratelimit/rules'] },
    ],
    ['prefers SLUICE_RULES', [], { RUNTIME_ROOT: '/data', SLUICE_RULES: 'a' }, { rules: ['a'] }],
    ['has no TLS', [], { GRPC_SERVER_TLS_CERT: 'a.pem' }, { grpc: { tls: undefined } }],
    [
      'has TLS when configured',
      ['--grpc-tls'],
      { GRPC_SERVER_TLS_CERT: 'a.pem', GRPC_SERVER_TLS_KEY: 'a.key', GRPC_CLIENT_TLS_CACERT: 'ca.pem' },
      { grpc: { tls: { certFile: 'a.pem', keyFile: 'a.key', clientCaFile: 'ca.pem', clientSan: undefined } } },
    ],
    ['does not look at a variable that a flag overrides', ['--http-port', '1'], { PORT: 'none' }, { httpPort: 1 }],
    ['takes an empty variable as not given', [], { HOST: '', PORT: '' }, { host: '0.0.0.0', httpPort: 8080 }],
    ['takes the last of a flag given twice', ['--http-port', '1', '--http-port', '2'], {}, { httpPort: 2 }],
    ['has no rules by default', [], {}, { rules: [], isExample: false, mergeDomains: false }],
    ['runs on the examples when configured', ['--examples'], {}, { rules: [EXAMPLES], isExample: true }],
    ['shows the examples to this machine only', ['--examples'], {}, { host: '127.0.0.1', grpc: { host: '127.0.0.1' } }],
    ['unless an address is named', ['--examples'], { HOST: '0.0.0.0' }, { host: '0.0.0.0', grpc: { host: '0.0.0.0' } }],
    ['shows rules to all addresses', ['--examples', '--rules', 'a'], {}, { host: '0.0.0.0' }],
    [
      'has a file for the first token where it has a directory',
      ['--data', '/d'],
      {},
      { firstTokenFile: '/d/first-token' },
    ],
    ['or where one is named', ['--data', '/d', '--first-token-file', '/f'], {}, { firstTokenFile: '/f' }],
    ['and none for a database alone', ['--database', 'postgres://h/d'], {}, { firstTokenFile: undefined }],
    ['opens nothing of the admin port', [], {}, { metricsOpen: false, statsOpen: false }],
    ['opens the statistics when configured', ['--stats-open'], {}, { metricsOpen: false, statsOpen: true }],
    ['does so for a variable', [], { SLUICE_EXAMPLES: '1', SLUICE_RULES: '' }, { rules: [EXAMPLES], isExample: true }],
    ['prefers rules', ['--examples', '--rules', 'a.yaml'], {}, { rules: ['a.yaml'], isExample: false }],
    ['prefers RUNTIME_ROOT', ['--examples'], { RUNTIME_ROOT: '/a' }, { rules: ['/a/config'], isExample: false }],
    ['reads where the rules are', ['--rules', 'a.yaml'], {}, { rules: ['a.yaml'], isExample: false }],
    ['reads it from the environment', [], { SLUICE_RULES: '/etc/rules' }, { rules: ['/etc/rules'], isExample: false }],
    ['takes every --rules', ['--rules', 'b', '--rules=a'], {}, { rules: ['b', 'a'] }],
    ['takes a list of rules', ['--rules', 'b,a', '--rules', 'c d'], {}, { rules: ['b', 'a', 'c d'] }],
    ['takes a list from the environment', [], { SLUICE_RULES: 'b, a,' }, { rules: ['b', 'a'] }],
    ['does not add the variable to the flag', ['--rules', 'a'], { SLUICE_RULES: 'b' }, { rules: ['a'] }],
    ['merges domains when configured', ['--merge-domains'], {}, { mergeDomains: true }],
    ['is compatible with nothing by default', [], {}, { compatibility: undefined, stopsWhenOverLimit: false }],
    [
      'is compatible by the environment',
      [],
      { SLUICE_COMPATIBILITY: 'envoyproxy-ratelimit', STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: 'true' },
      { compatibility: 'envoyproxy-ratelimit', stopsWhenOverLimit: true },
    ],
    ['merges domains by the environment', [], { SLUICE_MERGE_DOMAINS: 'true' }, { mergeDomains: true }],
    ['reads 1 as true', [], { SLUICE_MERGE_DOMAINS: '1' }, { mergeDomains: true }],
    ['reads 0 as false', [], { SLUICE_MERGE_DOMAINS: '0' }, { mergeDomains: false }],
    ['takes an empty switch as not given', [], { SLUICE_MERGE_DOMAINS: '' }, { mergeDomains: false }],
    ['lets a flag switch off', ['--merge-domains=false'], { SLUICE_MERGE_DOMAINS: '1' }, { mergeDomains: false }],
  ])('%s', (_, args, env, expected) => {
    expect(readConfig(args, env)).toMatchObject(expected)
  })

  it.each<[string, string[], string]>([
    ['an unknown flag', ['--prot', '1'], `FLAG_UNKNOWN: serve: got "--prot", did you mean "--http-port"? ${FLAG_RULE}`],
    [
      'a flag that is nearly one',
      ['--http-prot=1'],
      `FLAG_UNKNOWN: serve: got "--http-prot", did you mean "--http-port"? ${FLAG_RULE}`,
    ],
    ['an unknown flag like no other', ['--verbose=1'], `FLAG_UNKNOWN: serve: got "--verbose". ${FLAG_RULE}`],
    ['a short flag', ['-p', '1'], `FLAG_UNKNOWN: serve: got "-p". ${FLAG_RULE}`],
    [
      'a flag named like a part of an object',
      ['--__proto__', '1'],
      `FLAG_UNKNOWN: serve: got "--__proto__". ${FLAG_RULE}`,
    ],
    ['a flag of several lines', ['--a\nb'], `FLAG_UNKNOWN: serve: got "--a\\nb". ${FLAG_RULE}`],
    ['an argument', ['8080'], `FLAG_UNKNOWN: serve: got "8080". ${FLAG_RULE}`],
    ['an argument after --', ['--', '8080'], `FLAG_UNKNOWN: serve: got "8080". ${FLAG_RULE}`],
    ['a flag without its value', ['--http-port'], `FLAG_VALUE_MISSING: --http-port: no value. ${VALUE_RULE}`],
    ['a flag with an empty value', ['--host='], `FLAG_VALUE_MISSING: --host: no value. ${VALUE_RULE}`],
    ['rules without a name', ['--rules', ','], `FLAG_VALUE_MISSING: --rules: no value. ${VALUE_RULE}`],
    ['a switch that is neither', ['--merge-domains=no'], `SWITCH_INVALID: --merge-domains: got "no". ${SWITCH_RULE}`],
    [
      'several workers that count in memory',
      ['--workers', '2'],
      'WORKERS_NEED_REDIS: --workers: got "2" with counters in memory. ' +
        'Several workers share counters through Redis. Set --redis, or use --workers 1.',
    ],
    [
      'a worker for each core in memory',
      ['--workers=auto'],
      'WORKERS_NEED_REDIS: --workers: got "auto" with counters in memory. ' +
        'Several workers share counters through Redis. Set --redis, or use --workers 1.',
    ],
    [
      'no worker',
      ['--workers=0'],
      'WORKERS_INVALID: --workers: got "0". Workers must be a whole number from 1 to 512, or auto.',
    ],
    [
      '513 workers',
      ['--workers=513'],
      'WORKERS_INVALID: --workers: got "513". Workers must be a whole number from 1 to 512, or auto.',
    ],
    [
      'a level of no logger',
      ['--log-level', 'loud'],
      'CHOICE_INVALID: --log-level: got "loud", expected debug or info or warn or error. Use one of the values listed.',
    ],
    [
      'a Redis without time',
      ['--redis-timeout', '0s'],
      'REDIS_TIMEOUT_INVALID: --redis-timeout: got "0s". The Redis timeout must be from 1ms to 60s.',
    ],
    [
      'a prefix of keys that chooses servers',
      ['--key-prefix', '{a}'],
      'KEY_PREFIX_INVALID: --key-prefix: got "{a}". A key prefix must have at most 100 characters, without {, } and control characters.',
    ],
    [
      'compact keys without a secret',
      ['--keys', 'compact'],
      'COMPACT_KEYS_NEED_SECRET: --keys: no secret is set. Compact keys are keyed hashes. Set SLUICE_SECRET to the same value on every node.',
    ],
    [
      'a time that no timer takes',
      ['--drain-timeout', '21d'],
      'DURATION_TOO_LONG: --drain-timeout: got "21d". A time that the service waits for must be at most 20 days.',
    ],
    [
      'a header with a line break',
      ['--limit-header', 'a\r\nb: c'],
      String.raw`HEADER_NAME_INVALID: --limit-header: got "a\r\nb: c". A header name must have 1 to 100 letters, digits and characters such as -.`,
    ],
    [
      'a count that is none',
      ['--grpc-max-streams=many'],
      'COUNT_INVALID: --grpc-max-streams: got "many". A count must be a whole number from 0 to 999999999; 0 selects the default.',
    ],
    [
      'TLS without a certificate',
      ['--grpc-tls'],
      `TLS_INCOMPLETE: --grpc-tls: --grpc-tls-cert is missing. ${TLS_RULE}`,
    ],
    [
      'TLS without a key',
      ['--grpc-tls', '--grpc-tls-cert', 'a.pem'],
      `TLS_INCOMPLETE: --grpc-tls: --grpc-tls-key is missing. ${TLS_RULE}`,
    ],
    [
      'a name of clients without their authority',
      ['--grpc-tls', '--grpc-tls-cert', 'a', '--grpc-tls-key', 'b', '--grpc-client-san', 'envoy'],
      `TLS_INCOMPLETE: --grpc-tls: --grpc-client-san is given without --grpc-client-ca. ${TLS_RULE}`,
    ],
    [
      'a certificate for Redis without its key',
      ['--redis-cert', 'a.crt'],
      `TLS_INCOMPLETE: --redis-cert: --redis-key is missing. ${TLS_RULE}`,
    ],
    [
      'a key for Redis without its certificate',
      ['--redis-key', 'a.key'],
      `TLS_INCOMPLETE: --redis-key: --redis-cert is missing. ${TLS_RULE}`,
    ],
    ['a flag in place of a value', ['--http-port', '--host'], `PORT_INVALID: --http-port: got "--host". ${PORT_RULE}`],
  ])('refuses %s', (_, args, message) => {
    expect(messageOf(args)).toBe(message)
  })

  it.each(['-1', '65536', '1.5', '0x50', '1e3', ' 80', '80a', 'http', '99999999999'])(
    'refuses the port "%s"',
    (port) => {
      expect(messageOf(['--http-port', port])).toBe(`PORT_INVALID: --http-port: got "${port}". ${PORT_RULE}`)
      expect(messageOf([], { PORT: port })).toBe(`PORT_INVALID: PORT: got "${port}". ${PORT_RULE}`)
    },
  )
})

describe('readConfig, from the environment', () => {
  it.each<[string, Record<string, string>, string]>([
    ['a switch', { SLUICE_MERGE_DOMAINS: 'on' }, `SWITCH_INVALID: SLUICE_MERGE_DOMAINS: got "on". ${SWITCH_RULE}`],
    ['rules', { SLUICE_RULES: ' , ' }, `FLAG_VALUE_MISSING: SLUICE_RULES: no value. ${VALUE_RULE}`],
  ])('names the variable of %s that is wrong', (_, env, message) => {
    expect(messageOf([], env)).toBe(message)
  })
})

describe('readConfig, secrets', () => {
  it.each<[string, string[], Record<string, string>]>([
    ['a port that is an address', [], { PORT: 'redis://me:hunter2@h' }],
    ['a choice that is an address', ['--log-format', 'redis://me:hunter2@h'], {}],
    ['an argument that is an address', ['redis://me:hunt er2/hunter2@h'], {}],
    ['a type that is an address', [], { REDIS_URL: 'h:1', REDIS_TYPE: 'redis://:hunter2@h' }],
    ['a switch that is an address', [], { REDIS_URL: 'h:1', REDIS_TLS: 'redis://:hunter2@h' }],
    ['a socket type that is an address', [], { REDIS_URL: 'h:1', REDIS_SOCKET_TYPE: 'redis://:hunter2@h' }],
    ['a misspelt variable', [], { SLUICE_TOKENS: 'hunter2' }],
    ['an unsupported variable', [], { BACKEND_TYPE: 'redis://:hunter2@h' }],
    ['a sentinel list', [], { REDIS_TYPE: 'sentinel', REDIS_URL: 'me:hunter2@h' }],
    ['a short token', ['--token', 'hunter2'], {}],
  ])('never shows a password in an error about %s', (_, args, env) => {
    expect(messageOf(args, env)).not.toMatch(/hunter2|er2/)
  })
})

describe('readConfig, warnings', () => {
  it.each<[string, Record<string, string>, string[]]>([
    ['says nothing without a reason', {}, []],
    [
      'names a variable that has no effect',
      { USE_DOG_STATSD_MOGRIFIERS: 'true' },
      ['USE_DOG_STATSD_MOGRIFIERS is ignored: names are sent as they are; /metrics of the admin port has labels'],
    ],
    [
      'says nothing about a variable that changes nothing',
      { BACKEND_TYPE: 'redis', USE_STATSD: 'FALSE', CONFIG_TYPE: 'FILE' },
      [],
    ],
    [
      'names the ones without an equivalent, in one line',
      { REDIS_POOL_SIZE: '5', REDIS_PIPELINE_LIMIT: '8', TRACING_SERVICE_NAME: '' },
      ['REDIS_POOL_SIZE, REDIS_PIPELINE_LIMIT: nothing to set here (docs/migrate-from-envoy-ratelimit.md)'],
    ],
    [
      'says what a variable was probably meant to be',
      { RUNTIME_ROTO: '/data' },
      ['RUNTIME_ROTO is not a setting, did you mean RUNTIME_ROOT?'],
    ],
    [
      'says that counters are not shared after all',
      { REDIS_TYPE: 'cluster', REDIS_AUTH: 'hunter2' },
      ['REDIS_TYPE, REDIS_AUTH: no effect, because REDIS_URL is not set; counters live in this process alone'],
    ],
    [
      'leaves the variables of Kubernetes alone',
      { SLUICE_PORT: 'tcp://10.0.0.1:80', SLUICE_SERVICE_HOST: '10.0.0.1' },
      [],
    ],
    [
      'says that a certificate is not used',
      { GRPC_SERVER_TLS_CERT: 'a.pem' },
      ['GRPC_SERVER_TLS_CERT is given, but TLS of gRPC is off: --grpc-tls turns it on'],
    ],
    [
      'asks for a secret with Redis',
      { REDIS_URL: 'a:1' },
      ['SLUICE_SECRET is not set: set it to the same text on every node (docs/redis.md)'],
    ],
    ['is content with a secret', { REDIS_URL: 'a:1', SLUICE_SECRET: 'x' }, []],
  ])('%s', (_, env, warnings) => {
    expect(readConfig([], env).warnings).toEqual(warnings)
  })
})

describe('readConfig, metrics', () => {
  const HERE = { host: 'localhost', port: 8_125, isDog: false, intervalMs: 10_000, tags: {} }

  it.each([
    ['sends nothing to StatsD by default', {}, undefined],
    ['nor where only its port is known', { STATSD_PORT: '8126' }, undefined],
    ['sends where that is switched on', { USE_STATSD: 'true' }, HERE],
    ['sends where a host is given', { STATSD_HOST: 'stats' }, { ...HERE, host: 'stats' }],
    ['sends nothing where that is switched off', { STATSD_HOST: 'stats', USE_STATSD: 'false' }, undefined],
    ['sends nothing without stats', { USE_STATSD: 'true', DISABLE_STATS: 'true' }, undefined],
    ['ignores the port that Kubernetes sets', { USE_STATSD: 'true', STATSD_PORT: 'tcp://10.0.0.1:8125' }, HERE],
    [
      'sends to DogStatsD with tags',
      { USE_DOG_STATSD: 'true', EXTRA_TAGS: 'region:eu,cluster:a', STATS_FLUSH_INTERVAL: '1s' },
      { ...HERE, isDog: true, intervalMs: 1_000, tags: { region: 'eu', cluster: 'a' } },
    ],
  ])('%s', (_, env, statsd) => {
    expect(readConfig([], env).statsd).toEqual(statsd)
  })

  it.each([
    [{}, undefined],
    [{ PROMETHEUS_ADDR: ':9191' }, undefined],
    [{ USE_PROMETHEUS: 'true' }, { host: '0.0.0.0', port: 9_090, path: '/metrics' }],
    [
      { USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: '[::1]:9191', PROMETHEUS_PATH: 'stats' },
      { host: '::1', port: 9_191, path: '/stats' },
    ],
    [
      { USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: '127.0.0.1:0' },
      { host: '127.0.0.1', port: 0, path: '/metrics' },
    ],
  ])('serves them at another address where that is wanted: %j', (env, place) => {
    expect(readConfig([], env).metrics).toEqual({ isOn: true, maxRules: 1_000, place })
  })

  it('counts nothing for Prometheus where that is switched off', () => {
    expect(readConfig(['--metrics=off', '--metrics-max-rules=7'], {}).metrics).toMatchObject({
      isOn: false,
      maxRules: 7,
    })
  })
})
