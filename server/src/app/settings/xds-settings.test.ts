import { describe, expect, it } from 'vitest'
import { raisedBy } from '../../../../src/core/raised.suite.ts'
import { readConfig } from './config.ts'
import { rulePlaces } from './remote-rules.ts'
import { secretsOf } from './secrets.ts'

const RULE = 'A control plane must be HOST:PORT, node metadata key=value, and headers name:value, separated by commas.'

/** What Envoy Gateway starts its rate limit service with. */
const ENVOY_GATEWAY = {
  RUNTIME_ROOT: '/data',
  RUNTIME_SUBDIRECTORY: 'ratelimit',
  RUNTIME_IGNOREDOTFILES: 'true',
  RUNTIME_WATCH_ROOT: 'false',
  LOG_LEVEL: 'info',
  USE_STATSD: 'false',
  CONFIG_TYPE: 'GRPC_XDS_SOTW',
  CONFIG_GRPC_XDS_SERVER_URL: 'envoy-gateway:18001',
  CONFIG_GRPC_XDS_NODE_ID: 'envoy-ratelimit',
  GRPC_SERVER_USE_TLS: 'true',
  GRPC_SERVER_TLS_CERT: '/certs/tls.crt',
  GRPC_SERVER_TLS_KEY: '/certs/tls.key',
  GRPC_SERVER_TLS_CA_CERT: '/certs/ca.crt',
  CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
  CONFIG_GRPC_XDS_CLIENT_TLS_CERT: '/certs/tls.crt',
  CONFIG_GRPC_XDS_CLIENT_TLS_KEY: '/certs/tls.key',
  CONFIG_GRPC_XDS_SERVER_TLS_CACERT: '/certs/ca.crt',
  FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
  REDIS_SOCKET_TYPE: 'tcp',
  REDIS_URL: 'redis:6379',
  USE_PROMETHEUS: 'true',
  PROMETHEUS_ADDR: ':19001',
  PROMETHEUS_MAPPER_YAML: '/etc/statsd-exporter/conf.yaml',
}

describe('the settings of a control plane', () => {
  it('are there where Envoy Gateway starts the service, and nothing else of it is in the way', () => {
    const config = readConfig([], ENVOY_GATEWAY)
    expect(config).toMatchObject({
      rules: [],
      redisUrl: 'redis://redis:6379',
      grpc: { tls: { certFile: '/certs/tls.crt', keyFile: '/certs/tls.key' } },
      metrics: { place: { port: 19_001 } },
      remoteRules: {
        startsEmpty: true,
        tls: { caFile: '/certs/ca.crt', certFile: '/certs/tls.crt', keyFile: '/certs/tls.key' },
        xds: { host: 'envoy-gateway', port: 18_001, isTls: true, node: { id: 'envoy-ratelimit', metadata: {} } },
      },
    })
    expect(rulePlaces(config)).toEqual(['xds envoy-gateway:18001'])
    expect(config.warnings).toEqual([
      'PROMETHEUS_MAPPER_YAML is ignored: names are listed in docs/observability.md; use recording rules for others',
      'SLUICE_SECRET is not set: set it to the same text on every node (docs/redis.md)',
    ])
  })

  it('match Envoy AI Gateway, which speaks without TLS', () => {
    const { remoteRules } = readConfig([], {
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_SERVER_URL: 'ai-gateway-controller:18002',
      CONFIG_GRPC_XDS_NODE_ID: 'envoy-ai-gateway-ratelimit',
    })
    expect(remoteRules.xds).toMatchObject({ isTls: false, port: 18_002, node: { id: 'envoy-ai-gateway-ratelimit' } })
  })

  it('have the defaults of envoyproxy/ratelimit where it has good ones', () => {
    expect(readConfig([], { CONFIG_TYPE: 'grpc_xds_sotw' }).remoteRules).toMatchObject({
      startsEmpty: false,
      xds: {
        name: 'xds localhost:18000',
        serverName: undefined,
        node: { id: 'default', metadata: {} },
        headers: {},
        maxMessageBytes: 8_388_608,
        backoffMs: 1_000,
        maxBackoffMs: 30_000,
      },
    })
  })

  it('are read from all of its variables', () => {
    const { xds } = readConfig([], {
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_SERVER_URL: 'dns:///[::1]:18000',
      CONFIG_GRPC_XDS_NODE_METADATA: 'zone=a, team:b=c,empty=',
      CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'X-Tenant:t,authorization:Bearer abcdefgh',
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: 'control.example',
      CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: '3s',
      XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: '10s',
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: '60s',
      XDS_CLIENT_BACKOFF_RANDOM_FACTOR: '0.5',
      XDS_CLIENT_BACKOFF_JITTER: 'true',
      XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: '4194304',
    }).remoteRules
    expect(xds).toEqual({
      name: 'xds [::1]:18000',
      host: '::1',
      port: 18_000,
      isTls: false,
      serverName: 'control.example',
      node: { id: 'default', metadata: { zone: 'a', team: 'b=c', empty: '' } },
      headers: { 'x-tenant': 't', authorization: 'Bearer abcdefgh' },
      maxMessageBytes: 4_194_304,
      backoffMs: 10_000,
      maxBackoffMs: 60_000,
    })
  })

  it('are ours, too, and work together with files', () => {
    const config = readConfig(['--rules-xds', 'control:1', '--rules', 'r.yaml', '--rules-xds-tls'], {})
    expect(config).toMatchObject({ rules: ['r.yaml'], remoteRules: { xds: { host: 'control', isTls: true } } })
  })

  it('mean nothing where rules are files', () => {
    const env = { CONFIG_TYPE: 'FILE', CONFIG_GRPC_XDS_SERVER_URL: 'h:1', RUNTIME_ROOT: '/data' }
    expect(readConfig([], env)).toMatchObject({ rules: ['/data/config'], remoteRules: { xds: undefined } })
  })

  it('keep headers out of the log', () => {
    const env = { SLUICE_RULES_XDS_HEADERS: 'authorization:Bearer abcdefgh', SLUICE_RULES_XDS: 'h:1' }
    expect(secretsOf(readConfig([], env))).toContain('Bearer abcdefgh')
  })

  it.each([
    ['--rules-xds', 'http://h:1', 'got "http://h:1"'],
    ['--rules-xds', 'h', 'got "h"'],
    ['--rules-xds', 'h:0', 'got "h:0"'],
    ['--rules-xds', ':18000', 'got ":18000"'],
    ['--rules-xds-metadata', 'a=b,c', 'part 2 of 2 is malformed'],
    ['--rules-xds-headers', 'a b:c', 'part 1 of 1 is malformed'],
    ['--rules-xds-headers', 'a:b\nc', 'part 1 of 1 is malformed'],
    ['--rules-xds-headers', 'TE:x', 'the header te is set by Sluice itself'],
    ['--rules-xds-headers', 'grpc-timeout:1S', 'the header grpc-timeout is set by Sluice itself'],
  ])('refuse %s %j', (flag, value, detail) => {
    expect(raisedBy(() => readConfig([flag, value], {}))).toBe(`RULES_XDS_INVALID: ${flag}: ${detail}. ${RULE}`)
  })
})
