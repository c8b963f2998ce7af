import { SluiceError } from 'sluice/internal/core/errors'
import { ClientPool, type PoolKit } from '../http1/client-pool.ts'
import { Http2Pool } from '../http2/client-pool.ts'
import { DEFAULT_CONNECTIONS, type RoutingTable, type Upstream } from '../options.ts'
import { readEndpoint } from '../upstreams/endpoint.ts'
import { LimitedPool, type LimitedPoolKit } from '../upstreams/limited-pool.ts'
import { Member } from '../upstreams/member.ts'
import { fingerprint, UpstreamGroup } from '../upstreams/upstream-group.ts'

/** Opens the groups of a table, and keeps groups of the previous table that have the same settings. */
export function openUpstreams(
  { upstreams }: RoutingTable,
  before: ReadonlyMap<string, UpstreamGroup>,
  kit: PoolKit & LimitedPoolKit,
): ReadonlyMap<string, UpstreamGroup> {
  return new Map(
    Object.entries(upstreams).map(([name, upstream]): [string, UpstreamGroup] => {
      const known = before.get(name)
      return [name, known?.made === fingerprint(upstream) ? known : openUpstream(name, upstream, kit)]
    }),
  )
}

function openUpstream(name: string, upstream: Upstream, kit: PoolKit & LimitedPoolKit): UpstreamGroup {
  const {
    addresses,
    http2,
    tls,
    maxConnections = DEFAULT_CONNECTIONS,
    maxWaiting = 256,
    keepAliveMs = 4_000,
    ejectAfter = 5,
    adaptive,
  } = upstream
  const where = `upstreams.${name}.addresses`
  if (addresses.length === 0) throw new SluiceError('GATEWAY_OPTIONS_INVALID', where, 'got an empty list')
  const limits = { maxConnections, maxWaiting, keepAliveMs }
  const members = addresses.map((address, i) => {
    const endpoint = readEndpoint(address, `${where}[${i}]`, tls)
    const pool = http2 === true ? new Http2Pool(endpoint, limits, kit) : new ClientPool(endpoint, limits, kit)
    const limited = adaptive && new LimitedPool(pool, { ...adaptive, maxWaiting }, kit)
    return new Member(endpoint, limited ?? pool, ejectAfter, () => kit.clock.nowMs())
  })
  return new UpstreamGroup(upstream, members, (delayMs, run) => kit.clock.after(delayMs, run))
}
