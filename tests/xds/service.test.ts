import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import tls from 'node:tls'
import { Client, credentials, ServerCredentials } from '@grpc/grpc-js'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { logTo } from '../../server/src/app/log/log.ts'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { type Service, startService } from '../../server/src/app/wire.ts'
import { codecOf, RLS_REQUEST, RLS_RESPONSE } from '../../server/src/protobuf/protos.suite.ts'
import { makeCertificates } from '../servers/certificates.mjs'
import { makeTemporaryDir } from '../servers/reaper.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { ControlPlane } from './control-plane.suite.ts'
import { domainOf } from './protos.suite.ts'

// As the control plane of Envoy Gateway.
tls.DEFAULT_MIN_VERSION = 'TLSv1.3'

const NODE = 'envoy-ratelimit'
/** What Envoy Gateway sends for a policy with a limit for each user: slashes in names, a chain, the limit at its end. */
const OF_GATEWAY = {
  name: 'default/eg/http',
  domain: 'default/eg/http',
  descriptors: [
    {
      key: 'httproute/default/api/rule/0/match/0/*',
      value: 'httproute/default/api/rule/0/match/0/*',
      descriptors: [{ key: 'rule-0-match-0', rate_limit: { unit: 'HOUR', requests_per_unit: 2 } }],
    },
  ],
}
const ASK = {
  domain: 'default/eg/http',
  descriptors: [
    {
      entries: [
        { key: 'httproute/default/api/rule/0/match/0/*', value: 'httproute/default/api/rule/0/match/0/*' },
        { key: 'rule-0-match-0', value: `user-${Math.random()}` },
      ],
    },
  ],
}

let certs: string
beforeAll(async () => {
  certs = makeTemporaryDir('xds-tls')
  await makeCertificates(certs)
})

const file = (name: string): string => join(certs, name)

/** Starts a control plane that asks clients for a certificate. */
function startTls(): Promise<ControlPlane> {
  const [ca, cert, key] = ['ca.crt', 'server.crt', 'server.key'].map((name) => readFileSync(file(name)))
  const pair = { cert_chain: cert, private_key: key }
  return ControlPlane.start({ credentials: ServerCredentials.createSsl(ca, [pair], true) })
}

/** Starts the service in this process, on free ports. It ends with the test. */
async function serve(env: Record<string, string>): Promise<{ readonly service: Service; readonly logged: string[] }> {
  const logged: string[] = []
  const log = logTo(({ event, message }) => logged.push(`${event} ${message}`))
  const ports = ['--host=127.0.0.1', '--http-port=0', '--grpc-port=0', '--admin-port=0']
  const service = await startService(readConfig(ports, env), log)
  onTestFinished(() => service.close())
  return { service, logged }
}

/** Makes a call over gRPC. */
function call(
  client: Client,
  path: string,
  request: typeof RLS_REQUEST,
  response: typeof RLS_RESPONSE,
  message: object,
) {
  return new Promise<Record<string, unknown>>((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      (object: object) => request.encode(object),
      (bytes: Buffer) => response.decode(bytes) as Record<string, unknown>,
      message,
      (error, answer) => (error === null && answer ? resolve(answer) : reject(error)),
    )
  })
}

const statusAt = async (address: string, path: string): Promise<number> =>
  (await fetch(`http://${address}${path}`)).status

/** The environment of a client of a control plane without TLS. */
const namedBy = ({ port }: ControlPlane, more: Record<string, string> = {}): Record<string, string> => ({
  CONFIG_TYPE: 'GRPC_XDS_SOTW',
  CONFIG_GRPC_XDS_SERVER_URL: `localhost:${port}`,
  CONFIG_GRPC_XDS_NODE_ID: NODE,
  ...more,
})

describe('a service in the place of envoyproxy/ratelimit', () => {
  it('is started by Envoy Gateway, shows its certificate, and limits as configured', async () => {
    const plane = await startTls()
    plane.set(NODE, '1', [OF_GATEWAY])
    const redis = new URL((await sharedRedis()).url)
    const { service } = await serve({
      ...namedBy(plane),
      ...{ RUNTIME_ROOT: '/data', RUNTIME_SUBDIRECTORY: 'ratelimit', RUNTIME_IGNOREDOTFILES: 'true' },
      ...{ RUNTIME_WATCH_ROOT: 'false', LOG_LEVEL: 'info', USE_STATSD: 'false', REDIS_SOCKET_TYPE: 'tcp' },
      ...{ REDIS_URL: redis.host, USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: ':0' },
      PROMETHEUS_MAPPER_YAML: '/etc/statsd-exporter/conf.yaml',
      CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: file('client.crt'),
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: file('client.key'),
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: file('ca.crt'),
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: file('server.crt'),
      GRPC_SERVER_TLS_KEY: file('server.key'),
      GRPC_SERVER_TLS_CA_CERT: file('ca.crt'),
      FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
      SLUICE_COMPATIBILITY: 'envoyproxy-ratelimit',
      SLUICE_KEY_PREFIX: `xds-${Math.random()}`,
    })
    const client = new Client(service.addresses.grpc, credentials.createSsl(readFileSync(file('ca.crt'))))
    onTestFinished(() => client.close())
    const path = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'
    const ask = async () => (await call(client, path, RLS_REQUEST, RLS_RESPONSE, ASK)).overallCode
    expect(await ask()).toBe('OK')
    await until('the limit is reached', async () => (await ask()) === 'OVER_LIMIT')
    const health = {
      request: codecOf('grpc.health.v1.HealthCheckRequest'),
      response: codecOf('grpc.health.v1.HealthCheckResponse'),
    }
    expect(
      await call(client, '/grpc.health.v1.Health/Check', health.request, health.response, { service: 'ratelimit' }),
    ).toEqual({ status: 'SERVING' })
    await until('the control plane is notified', () => plane.acks.length === 1)
  })

  it('connects to a control plane by the name in its certificate, and to no other', async () => {
    const plane = await startTls()
    plane.set(NODE, '1', [domainOf('a')])
    const env = {
      ...namedBy(plane),
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${plane.port}`,
      CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: file('client.crt'),
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: file('client.key'),
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: file('ca.crt'),
    }
    const forced = { ...env, FORCE_START_WITHOUT_INITIAL_CONFIG: 'true' }
    const [known, misnamed, strange] = await Promise.all([
      serve({ ...env, CONFIG_GRPC_XDS_SERVER_TLS_SAN: 'localhost' }),
      serve({ ...forced, CONFIG_GRPC_XDS_SERVER_TLS_SAN: 'elsewhere.example' }),
      serve({ ...forced, CONFIG_GRPC_XDS_SERVER_TLS_CACERT: '' }),
    ])
    expect([...known.service.rules().domains.keys()]).toEqual(['a'])
    const away = (logged: readonly string[]) => logged.find((line) => line.startsWith('rules.away'))
    expect(away(misnamed.logged)).toContain('ERR_TLS_CERT_ALTNAME_INVALID')
    expect(away(strange.logged)).toMatch(/UNABLE_TO|SELF_SIGNED/)
    expect(strange.service.rules().ruleCount).toBe(0)
  })

  it('continues with its rules while the control plane is unavailable, and accepts the next one’s', async () => {
    const plane = await ControlPlane.start()
    plane.set(NODE, '1', [domainOf('a')])
    const { service, logged } = await serve(namedBy(plane, { XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: '100ms' }))
    const domains = (): string => [...service.rules().domains.keys()].join()
    expect(domains()).toBe('a')
    plane.stop()
    await until('it is reported', () => logged.some((line) => line.startsWith('rules.away')))
    expect(domains()).toBe('a')
    const other = await ControlPlane.start({ port: plane.port })
    other.set(NODE, '1', [domainOf('b')])
    await until('the next rules are in force', () => domains() === 'b')
    expect(logged.some((line) => line.startsWith('rules.back'))).toBe(true)
    const metrics = await (await fetch(`http://${service.addresses.admin}/metrics`)).text()
    expect(metrics).toContain(`ratelimit_rules_source_age_seconds{source="xds localhost:${plane.port}"} 0\n`)
  })

  it('refuses a set with something wrong in it as a whole, and reports to the control plane what and where', async () => {
    const plane = await ControlPlane.start()
    plane.set(NODE, '1', [domainOf('a')])
    const { service, logged } = await serve(namedBy(plane))
    const wrong = { name: 'ns/gw/l', domain: 'w', descriptors: [{ key: 'k', rate_limit: { requests_per_unit: 1 } }] }
    plane.set(NODE, '2', [domainOf('b'), wrong])
    await until('it is refused', () => plane.nacks.length > 0)
    const place = `xds localhost:${plane.port}, resource "ns/gw/l".descriptors[0].rate_limit.unit`
    expect(plane.nacks[0].error_detail?.message).toContain(`RULE_INVALID: ${place}: `)
    expect(logged.find((line) => line.startsWith('rules.refused'))).toContain(place)
    expect([...service.rules().domains.keys()]).toEqual(['a'])
    plane.set(NODE, '3', [domainOf('c')])
    await until('the next is in force', () => [...service.rules().domains.keys()].join() === 'c')
  })

  it('is healthy without rules, unless configured to need some', async () => {
    const plane = await ControlPlane.start()
    const forced = { FORCE_START_WITHOUT_INITIAL_CONFIG: 'true', SLUICE_RULES_TIMEOUT: '500ms' }
    const [easy, strict] = await Promise.all([
      serve(namedBy(plane, forced)),
      serve(namedBy(plane, { ...forced, HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true' })),
    ])
    expect(await statusAt(easy.service.addresses.http, '/healthcheck')).toBe(200)
    expect(await statusAt(strict.service.addresses.http, '/healthcheck')).toBe(500)
    expect(await (await fetch(`http://${strict.service.addresses.admin}/readyz`)).text()).toBe(
      'not ready: no rules are in force\n',
    )
    plane.set(NODE, '1', [domainOf('a')])
    await until('it is healthy', async () => (await statusAt(strict.service.addresses.http, '/healthcheck')) === 200)
    plane.set(NODE, '2', [])
    await until('it is not', async () => (await statusAt(strict.service.addresses.http, '/healthcheck')) === 500)
    expect(await statusAt(easy.service.addresses.http, '/healthcheck')).toBe(200)
  })

  it('waits for the first rules, and ends when stopped meanwhile', async () => {
    const plane = await ControlPlane.start()
    const told = new AbortController()
    const config = readConfig(['--host=127.0.0.1', '--http-port=0', '--grpc-port=0', '--admin-port=0'], namedBy(plane))
    const starting = startService(
      config,
      logTo(() => {}),
      undefined,
      told.signal,
    )
    await until('it has asked', () => plane.requests.length === 1)
    told.abort()
    await expect(starting).rejects.toThrow()
  })
})
