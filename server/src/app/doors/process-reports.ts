import type { OpenStore } from 'sluice/internal/stores/open/open-store'
import type { ProcessView } from '../../admin/process/process-view.ts'
import type { GrpcServer } from '../../grpc/index.ts'
import { NO_HOT_KEYS } from '../../observe/hot-keys/hot-keys-report.ts'
import type { Reporter } from '../../observe/reports/reports.ts'
import { snakeCase } from '../../observe/reports/service-stats.ts'
import type { GatewayDoor } from './gateway-door.ts'
import type { ProcessCounts } from './process-counts.ts'
import type { Servers } from './servers.ts'
import type { ServingHealth } from './serving-health.ts'

interface Reported {
  readonly counts: ProcessCounts
  readonly callers: ProcessView
  readonly open: OpenStore
  readonly servers: Servers
  readonly gateway: GatewayDoor | undefined
  readonly health: ServingHealth
}

/** Returns what a process answers when its node asks for reports. */
export function reporterOf({ counts, callers, open, servers: { rls, grpc }, gateway, health }: Reported): Reporter {
  const { metrics, statsd, hotKeys, watch } = counts
  const elsewhere = { store: () => open.stats(), grpc: () => grpc.stats }
  return {
    stats: () =>
      Object.fromEntries([
        ...rls.calls.list(),
        ...counts.rules.list(),
        ...counts.unmatched.list(),
        ...counts.store.list(),
        ...named('sluice.store', open.stats()),
        ...(gateway === undefined ? grpcStats(grpc) : named('sluice.gateway', gateway.stats)),
      ]),
    metrics: () => metrics?.report(elsewhere),
    counted: () => metrics?.counted(elsewhere),
    unready: () => health.health.unready,
    statsd: () => Object.fromEntries(statsd === undefined ? [] : [...rls.calls.list(), ...statsd.list()]),
    hotKeys: async () => (await hotKeys?.gather()) ?? NO_HOT_KEYS,
    live: () => ({ ...callers.live.take(), process: watch.take() }),
    activity: () => callers.live.activity.report(Date.now()),
    owners: (keys) => callers.owners(keys),
    refusals: (about) => callers.refusalsOf(about),
    nearLimits: () => callers.nearLimits.list(),
    seenKeys: (about) => callers.seenKeys(about),
  }
}

function* grpcStats({ stats }: GrpcServer): Iterable<readonly [name: string, value: number]> {
  const { closedFor, ...counts } = stats
  yield* named('sluice.grpc', counts)
  yield* named('sluice.grpc.closed_for', closedFor)
}

/** Formats the names of counts as /stats has them. */
function* named(prefix: string, counts: Readonly<Record<string, number>>): Iterable<readonly [string, number]> {
  for (const [name, value] of Object.entries(counts)) yield [`${prefix}.${snakeCase(name)}`, value]
}
