import { got, SluiceError } from 'sluice/internal/core/errors'
import { ProxyTrust, type ProxyTrustOptions } from 'sluice/internal/core/identity/proxy-trust'
import { didYouMean } from 'sluice/internal/core/nearest'
import { readRate } from '../../edge/gateway-rules/file/rate.ts'
import { type Config, type GatewayConfig, readConfig } from './config.ts'
import { parseFlags } from './flags.ts'
import type { GrpcTls } from './grpc-settings.ts'
import { type Given, lastOf, READERS } from './setting-values.ts'
import { SETTINGS, type SettingSpec } from './settings.ts'

type GatewaySpec = Omit<SettingSpec, 'group'>

/** GATEWAY_SETTINGS are what `sluice gateway` can be told beside the settings of the service. */
export const GATEWAY_SETTINGS = [
  {
    flag: 'to',
    env: 'SLUICE_GATEWAY_TO',
    kind: 'paths',
    value: 'URL',
    unset: 'none',
    text: 'the app behind the gateway: http://localhost:3000; for several addresses, repeat the flag or use commas',
  },
  {
    flag: 'limit',
    env: 'SLUICE_GATEWAY_LIMIT',
    kind: 'paths',
    value: 'N/TIME',
    unset: 'none: it does not start',
    text: 'with --to: how many requests of one address in what time: 100/1m; several apply together',
  },
  {
    flag: 'no-limit',
    env: 'SLUICE_GATEWAY_NO_LIMIT',
    kind: 'switch',
    unset: 'off',
    text: 'with --to: no limit, on purpose',
  },
  {
    flag: 'ceiling',
    env: 'SLUICE_GATEWAY_CEILING',
    kind: 'text',
    value: 'N/TIME',
    unset: '50000/1s',
    text: 'with --to: how many requests one process takes of all clients together, counted in its memory; more get 503; or off',
  },
  {
    flag: 'ceiling-per-ip',
    env: 'SLUICE_GATEWAY_CEILING_PER_IP',
    kind: 'text',
    value: 'N/TIME',
    unset: '10000/1s',
    text: 'with --to: how many requests one process takes of one address; more get 429; or off',
  },
  {
    flag: 'concurrency',
    env: 'SLUICE_GATEWAY_CONCURRENCY',
    kind: 'text',
    value: 'N',
    unset: 'adaptive',
    text: 'with --to: how many requests the app gets at once: adaptive finds out; a number; or off',
  },
  {
    flag: 'routes',
    env: 'SLUICE_GATEWAY_ROUTES',
    kind: 'text',
    value: 'FILE',
    unset: 'none',
    text: 'instead of --to: a routes file (docs/gateway.md); reloaded as it changes',
  },
  {
    flag: 'port',
    env: 'SLUICE_GATEWAY_PORT',
    kind: 'port',
    value: 'PORT',
    default: '8000',
    text: 'where clients connect: HTTP/1.1 and HTTP/2; 0 picks a free one',
  },
  {
    flag: 'tls-cert',
    env: 'SLUICE_GATEWAY_TLS_CERT',
    kind: 'text',
    value: 'FILE',
    unset: 'no TLS',
    text: 'the certificate and its chain, in PEM; read again as it changes',
  },
  {
    flag: 'tls-key',
    env: 'SLUICE_GATEWAY_TLS_KEY',
    kind: 'text',
    value: 'FILE',
    unset: 'no TLS',
    text: 'the key of the certificate, in PEM',
  },
  {
    flag: 'client-ca',
    env: 'SLUICE_GATEWAY_CLIENT_CA',
    kind: 'text',
    value: 'FILE',
    unset: 'anyone may connect',
    text: 'clients have to show a certificate of this authority',
  },
  {
    flag: 'trusted-proxies',
    env: 'SLUICE_GATEWAY_TRUSTED_PROXIES',
    kind: 'text',
    value: 'N|ADDRESSES',
    unset: 'none',
    text: 'how many proxies stand in front, or their addresses and blocks: whose X-Forwarded-For counts',
  },
  {
    flag: 'max-connections',
    env: 'SLUICE_GATEWAY_MAX_CONNECTIONS',
    kind: 'count',
    value: 'N',
    unset: '10000',
    text: 'connections of clients to one process; for more, unused ones of the address with the most are closed',
  },
  {
    flag: 'max-connections-per-address',
    env: 'SLUICE_GATEWAY_MAX_CONNECTIONS_PER_ADDRESS',
    kind: 'count',
    value: 'N',
    unset: '1000',
    text: 'connections of one address to one process; more are closed; trusted proxies may have any number',
  },
  {
    flag: 'max-held',
    env: 'SLUICE_GATEWAY_MAX_HELD',
    kind: 'count',
    value: 'MIB',
    unset: '128',
    text: 'MiB that a process holds of heads of requests, a quarter of it for one address; past it, connections that hold the most are ended',
  },
  {
    flag: 'show-fallback',
    env: 'SLUICE_GATEWAY_SHOW_FALLBACK',
    kind: 'switch',
    unset: 'off',
    text: 'answers to clients say in Sluice-Fallback when limits were decided without Redis: for clients that are your own',
  },
] as const satisfies readonly GatewaySpec[]

type Env = NodeJS.ProcessEnv
type Name = (typeof GATEWAY_SETTINGS)[number]['flag']

/** readGatewayConfig reads the settings of the service, and those of its gateway. */
export function readGatewayConfig(args: readonly string[], env: Env): Config & { readonly gateway: GatewayConfig } {
  const specs = [...SETTINGS, ...GATEWAY_SETTINGS]
  const config = readConfig(args, env, { name: 'gateway', specs })
  const flags = parseFlags('gateway', specs, args)
  refuseMisspelled(env)
  const given = (name: Name): Given | undefined => {
    if (flags.has(name)) return { values: flags.all(name), where: `--${name}`, source: 'flag' }
    const spec = GATEWAY_SETTINGS.find(({ flag }) => flag === name) as GatewaySpec
    const value = env[spec.env] || undefined
    if (value !== undefined) return { values: [value], where: spec.env, source: 'env' }
    return spec.default === undefined ? undefined : { values: [spec.default], where: `--${name}`, source: 'flag' }
  }
  return { ...config, gateway: gatewayOf(given, config.host) }
}

/** refuseMisspelled: a typo must not switch off what it was to set. */
function refuseMisspelled(env: Env): void {
  const known: readonly string[] = GATEWAY_SETTINGS.map((spec) => spec.env)
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SLUICE_GATEWAY_') || known.includes(name) || env[name] === '') continue
    throw new SluiceError('VARIABLE_UNKNOWN', name, `it is no setting of the gateway${didYouMean(name, known)}`)
  }
}

type Ask = (name: Name) => Given | undefined

/** The flags that stand for a routes file, beside --to. */
const PLAIN = ['limit', 'no-limit', 'ceiling', 'ceiling-per-ip', 'concurrency'] as const

function gatewayOf(given: Ask, host: string): GatewayConfig {
  const [to, routes] = [given('to'), given('routes')]
  if ((to === undefined) === (routes === undefined)) {
    throw new SluiceError('UPSTREAM_REQUIRED', 'gateway', to === undefined ? 'none is given' : 'both are given')
  }
  const beside = to === undefined ? PLAIN.map(given).find((each) => each !== undefined) : undefined
  if (beside !== undefined)
    throw new SluiceError(
      'FLAG_UNKNOWN',
      beside.where,
      'it goes with --to; a routes file has limits and a ceiling itself',
    )
  return {
    file: routes && lastOf(routes),
    value: to && plainRoutes(to, given),
    host,
    port: READERS.port(given('port') as Given),
    tls: tlsOf(given),
    trust: trustOf(given('trusted-proxies')),
    maxConnections: countOf(given('max-connections')),
    maxConnectionsPerAddress: countOf(given('max-connections-per-address')),
    maxHeldMib: countOf(given('max-held')),
    showsFallback: isGiven(given('show-fallback')),
  }
}

/** plainRoutes is a routes file that leads everything to one upstream. */
function plainRoutes(to: Given, given: Ask): object {
  const concurrency = concurrencyOf(given('concurrency'))
  const addresses = READERS.paths(to)
  const upstreams = { app: concurrency === undefined ? addresses : { addresses, concurrency } }
  const [limit, off] = [given('limit'), given('no-limit')]
  const isOff = isGiven(off)
  if (limit === undefined && !isOff) {
    throw new SluiceError('ROUTE_UNLIMITED', to.where, 'neither --limit 100/1m nor --no-limit is given')
  }
  if (limit !== undefined && isOff) throw new SluiceError('ROUTE_UNLIMITED', limit.where, 'it stands beside --no-limit')
  const limits = limit === undefined ? { unlimited: true } : { limits: READERS.paths(limit) }
  return { upstreams, ...limits, ceiling: ceilingOf(given) }
}

function concurrencyOf(given: Given | undefined): string | number | undefined {
  if (given === undefined) return undefined
  const text = lastOf(given)
  if (text === 'adaptive' || text === 'off') return text
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_536) return Number(text)
  throw new SluiceError('CHOICE_INVALID', given.where, `${got(text)}, not adaptive, off or a number from 1 to 65536`)
}

function ceilingOf(given: Ask): object {
  const rate = (name: 'ceiling' | 'ceiling-per-ip'): string | undefined => {
    const value = given(name)
    if (value === undefined) return undefined
    const text = lastOf(value)
    if (text !== 'off') readRate(text, value.where)
    return text
  }
  const [requests, perIp] = [rate('ceiling'), rate('ceiling-per-ip')]
  return { ...(requests !== undefined && { requests }), ...(perIp !== undefined && { per_ip: perIp }) }
}

function tlsOf(given: Ask): GrpcTls | undefined {
  const [cert, key, clientCa] = [given('tls-cert'), given('tls-key'), given('client-ca')]
  const first = cert ?? key ?? clientCa
  if (first === undefined) return undefined
  if (cert === undefined) throw new SluiceError('TLS_INCOMPLETE', first.where, '--tls-cert is not given')
  if (key === undefined) throw new SluiceError('TLS_INCOMPLETE', first.where, '--tls-key is not given')
  return {
    certFile: lastOf(cert),
    keyFile: lastOf(key),
    clientCaFile: clientCa && lastOf(clientCa),
    clientSan: undefined,
  }
}

function countOf(given: Given | undefined): number | undefined {
  return given && READERS.count(given)
}

function isGiven(given: Given | undefined): boolean {
  return given !== undefined && READERS.switch(given)
}

function trustOf(given: Given | undefined): ProxyTrustOptions | undefined {
  if (given === undefined) return undefined
  const value = lastOf(given)
  const trust = { trustedProxies: /^\d{1,3}$/.test(value) ? Number(value) : READERS.paths(given) }
  try {
    new ProxyTrust(trust)
  } catch {
    throw new SluiceError('PROXY_TRUST_INVALID', given.where, got(value))
  }
  return trust
}
