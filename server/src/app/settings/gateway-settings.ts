import { got, SluiceError } from 'sluice/internal/core/errors'
import { ProxyTrust, type ProxyTrustOptions } from 'sluice/internal/core/identity/proxy-trust'
import { didYouMean } from 'sluice/internal/core/nearest'
import { readRate } from '../../edge/gateway-rules/file/rate.ts'
import { type Config, type GatewayConfig, readConfig } from './config.ts'
import { parseFlags } from './flags.ts'
import type { GrpcTls } from './grpc-settings.ts'
import { type Given, lastOf, READERS } from './setting-values.ts'
import { completed, SETTINGS, type SettingRow } from './settings.ts'

/** Every setting that `sluice gateway` has in addition to the service's. Their variables begin with SLUICE_GATEWAY_. */
// biome-ignore format: two lines a setting
const TABLE = {
  to: { kind: 'paths', value: 'URL',
    text: 'app behind the gateway, such as http://localhost:3000; for several addresses, repeat the flag or use commas' },
  limit: { kind: 'paths', value: 'N/TIME', unset: 'none: it does not start',
    text: 'with --to: requests per client address and time, such as 100/1m; several apply together' },
  'no-limit': { kind: 'switch',
    text: 'with --to: run without a limit' },
  ceiling: { kind: 'text', value: 'N/TIME', unset: '50000/1s',
    text: 'with --to: requests per process for all clients together, counted in its memory; more are answered 503; or off' },
  'ceiling-per-ip': { kind: 'text', value: 'N/TIME', unset: '10000/1s',
    text: 'with --to: requests per process for one client address; more are answered 429; or off' },
  concurrency: { kind: 'text', value: 'N', unset: 'adaptive',
    text: 'with --to: concurrent requests to the app: adaptive, a number, or off' },
  routes: { kind: 'text', value: 'FILE',
    text: 'instead of --to: a routes file (docs/gateway.md); reloaded when it changes' },
  port: { kind: 'port', default: '8000',
    text: 'port for clients, HTTP/1.1 and HTTP/2; 0 picks a free port' },
  'tls-cert': { kind: 'text', value: 'FILE', unset: 'no TLS',
    text: 'certificate and chain in PEM form; reloaded when it changes' },
  'tls-key': { kind: 'text', value: 'FILE', unset: 'no TLS',
    text: 'private key of the certificate in PEM form' },
  'client-ca': { kind: 'text', value: 'FILE', unset: 'anyone may connect',
    text: 'require client certificates signed by this CA' },
  'trusted-proxies': { kind: 'text', value: 'N|ADDRESSES',
    text: 'number of proxies in front, or their addresses and blocks: their X-Forwarded-For is trusted' },
  'max-connections': { kind: 'count', unset: '10000',
    text: 'maximum number of client connections per process; at the limit, idle connections of the address with the most are closed' },
  'max-connections-per-address': { kind: 'count', unset: '1000',
    text: 'maximum number of connections per address and process; more are closed; trusted proxies are exempt' },
  'max-held': { kind: 'count', value: 'MIB', unset: '128',
    text: 'maximum MiB buffered for request headers per process, a quarter of it per address; above it, the connections that buffer the most are closed' },
  'show-fallback': { kind: 'switch',
    text: 'add Sluice-Fallback to answers when limits were decided without Redis: for clients you own' },
} as const satisfies Readonly<Record<string, SettingRow>>

type Env = NodeJS.ProcessEnv
type Name = keyof typeof TABLE

/** The table, completed with what follows from the names and kinds. */
export const GATEWAY_SETTINGS = Object.entries<SettingRow>(TABLE).map(([flag, row]) =>
  completed(flag, row, 'SLUICE_GATEWAY_'),
)

/** Reads the settings of the service and of its gateway. */
export function readGatewayConfig(args: readonly string[], env: Env): Config & { readonly gateway: GatewayConfig } {
  const specs = [...SETTINGS, ...GATEWAY_SETTINGS]
  const config = readConfig(args, env, { name: 'gateway', specs })
  const flags = parseFlags('gateway', specs, args)
  refuseMisspelled(env)
  const given = (name: Name): Given | undefined => {
    if (flags.has(name)) return { values: flags.all(name), where: `--${name}`, source: 'flag' }
    const spec = completed(name, TABLE[name], 'SLUICE_GATEWAY_')
    const value = env[spec.env] || undefined
    if (value !== undefined) return { values: [value], where: spec.env, source: 'env' }
    return spec.default === undefined ? undefined : { values: [spec.default], where: `--${name}`, source: 'flag' }
  }
  return { ...config, gateway: gatewayOf(given, config.host) }
}

/** Rejects misspelled variables: a typo must not switch off what it was meant to set. */
function refuseMisspelled(env: Env): void {
  const known = GATEWAY_SETTINGS.map((spec) => spec.env)
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SLUICE_GATEWAY_') || known.includes(name) || env[name] === '') continue
    throw new SluiceError('VARIABLE_UNKNOWN', name, `not a setting of the gateway${didYouMean(name, known)}`)
  }
}

type Ask = (name: Name) => Given | undefined

/** The flags that, with --to, replace a routes file. */
const PLAIN = ['limit', 'no-limit', 'ceiling', 'ceiling-per-ip', 'concurrency'] as const

function gatewayOf(given: Ask, host: string): GatewayConfig {
  const [to, routes] = [given('to'), given('routes')]
  if ((to === undefined) === (routes === undefined)) {
    throw new SluiceError('UPSTREAM_REQUIRED', 'gateway', to === undefined ? 'neither is given' : 'both are given')
  }
  const unusable = to === undefined ? PLAIN.map(given).find((each) => each !== undefined) : undefined
  if (unusable !== undefined)
    throw new SluiceError(
      'FLAG_UNKNOWN',
      unusable.where,
      'only valid with --to. With --routes, set limits and the ceiling in the routes file',
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

/** Returns a routes file that sends everything to one upstream. */
function plainRoutes(to: Given, given: Ask): object {
  const concurrency = concurrencyOf(given('concurrency'))
  const addresses = READERS.paths(to)
  const upstreams = { app: concurrency === undefined ? addresses : { addresses, concurrency } }
  const [limit, off] = [given('limit'), given('no-limit')]
  const isOff = isGiven(off)
  if (limit === undefined && !isOff) {
    throw new SluiceError('ROUTE_UNLIMITED', to.where, 'neither --limit 100/1m nor --no-limit is given')
  }
  if (limit !== undefined && isOff)
    throw new SluiceError('ROUTE_UNLIMITED', limit.where, '--limit and --no-limit are both given')
  const limits = limit === undefined ? { unlimited: true } : { limits: READERS.paths(limit) }
  return { upstreams, ...limits, ceiling: ceilingOf(given) }
}

function concurrencyOf(given: Given | undefined): string | number | undefined {
  if (given === undefined) return undefined
  const text = lastOf(given)
  if (text === 'adaptive' || text === 'off') return text
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_536) return Number(text)
  throw new SluiceError(
    'CHOICE_INVALID',
    given.where,
    `${got(text)}, expected adaptive, off or a number from 1 to 65536`,
  )
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
  if (cert === undefined) throw new SluiceError('TLS_INCOMPLETE', first.where, '--tls-cert is missing')
  if (key === undefined) throw new SluiceError('TLS_INCOMPLETE', first.where, '--tls-key is missing')
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
