import { ADAPTIVE } from 'sluice/internal/core/shedding/adaptive-concurrency'
import { DEFAULT_CONNECTIONS, type Upstream } from '../../gateway/options.ts'
import { readEndpoint } from '../../gateway/upstreams/endpoint.ts'
import type { Diagnostics, Path } from './diagnostics.ts'
import type { RoutesFile, UpstreamObject } from './schema.ts'

/** What a routes file refers to. */
export interface Resources {
  /** Returns a file that the routes file names, and throws a SluiceError where it cannot. */
  readFile(path: string): Buffer
  variable(name: string): string | undefined
}

export function compileUpstream(
  form: RoutesFile['upstreams'][string],
  at: Path,
  diagnostics: Diagnostics,
  resources: Resources,
): Upstream {
  const isPlain = typeof form === 'string' || Array.isArray(form)
  const given: UpstreamObject = isPlain ? { addresses: [form].flat() } : form
  given.addresses.forEach((address, i) => {
    const path = typeof form === 'string' ? at : [...at, ...(isPlain ? [] : ['addresses']), i]
    diagnostics.attempt(path, () => readEndpoint(address, '', undefined))
  })
  const { http2, max_connections, max_waiting, keep_alive, eject_after } = given
  const adaptive = adaptiveOf(given, at, diagnostics)
  const keepAliveMs = diagnostics.duration(keep_alive, [...at, 'keep_alive'])
  const tls = tlsOf(given, at, diagnostics, resources)
  const health = healthOf(given, at, diagnostics)
  return {
    addresses: given.addresses,
    ...(http2 !== undefined && { http2 }),
    ...(tls !== undefined && { tls }),
    ...(health !== undefined && { health }),
    ...(max_connections !== undefined && { maxConnections: max_connections }),
    ...(max_waiting !== undefined && { maxWaiting: max_waiting }),
    ...(keepAliveMs !== undefined && { keepAliveMs }),
    ...(eject_after !== undefined && { ejectAfter: eject_after }),
    ...(adaptive !== undefined && { adaptive }),
  }
}

/** Returns the limit of concurrent requests: an adaptive one by default. */
function adaptiveOf(
  { concurrency, max_connections }: UpstreamObject,
  at: Path,
  diagnostics: Diagnostics,
): Upstream['adaptive'] {
  if (concurrency === 'off') return undefined
  if (typeof concurrency === 'number') return { min: concurrency, max: concurrency }
  const given = typeof concurrency === 'object' ? concurrency : {}
  const max = given.max ?? Math.max(max_connections ?? DEFAULT_CONNECTIONS, given.min ?? 1)
  const min = given.min ?? Math.min(ADAPTIVE.min, max)
  if (min > max) diagnostics.wrong([...at, 'concurrency', 'min'], `min: got ${min}, and max is ${max}`)
  return { min, max, ...(concurrency === undefined && { startsOpen: true }) }
}

function tlsOf(given: UpstreamObject, at: Path, diagnostics: Diagnostics, resources: Resources): Upstream['tls'] {
  const { ca_file, cert_file, key_file, server_name } = given
  if (ca_file === undefined && cert_file === undefined && key_file === undefined && server_name === undefined)
    return undefined
  if ((cert_file === undefined) !== (key_file === undefined))
    diagnostics.wrong(at, 'cert_file and key_file need each other')
  const read = (file: string | undefined, key: string): Buffer | undefined =>
    file === undefined ? undefined : diagnostics.attempt([...at, key], () => resources.readFile(file))
  const [ca, cert, key] = [read(ca_file, 'ca_file'), read(cert_file, 'cert_file'), read(key_file, 'key_file')]
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(server_name !== undefined && { servername: server_name }),
  }
}

function healthOf({ health }: UpstreamObject, at: Path, diagnostics: Diagnostics): Upstream['health'] {
  if (health === undefined) return undefined
  const everyMs = diagnostics.duration(health.every, [...at, 'health', 'every'])
  const timeoutMs = diagnostics.duration(health.timeout, [...at, 'health', 'timeout'])
  const { path, failures, successes } = health
  return {
    path,
    ...(everyMs !== undefined && { everyMs }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(failures !== undefined && { failures }),
    ...(successes !== undefined && { successes }),
  }
}
