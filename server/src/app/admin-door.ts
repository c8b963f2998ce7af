import type { Server } from 'node:http'
import { hostname } from 'node:os'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { requireSafeBind } from '../admin/access/loopback.ts'
import { requireRole } from '../admin/access/roles.ts'
import { adminServer } from '../admin/admin-server.ts'
import {
  type AdminParts,
  API_KEYS,
  AUDIT,
  RECORDS,
  RULE_TABLE,
  RULES,
  TOKENS,
  USAGE,
  WEBHOOKS,
} from '../admin/api/parts.ts'
import { CONFIRMATIONS } from '../admin/api/waits.ts'
import type { HotKeysScope } from '../admin/hot-keys/hot-keys-route.ts'
import { LEDGER } from '../admin/ledger/ledger-key.ts'
import { metricsRoute } from '../admin/metrics-route.ts'
import { openAdminApi } from '../admin/open-admin-api.ts'
import { routeServer } from '../edge/http/routes.ts'
import { type MergedMetrics, mergedWith } from '../observe/metrics/merge-reports.ts'
import type { CountsReport } from '../observe/statsd/statsd-counts.ts'
import type { FleetViews } from './admin/fleet-views.ts'
import { nodeName } from './admin/node-name.ts'
import { listen, portOf, reachable } from './doors/listen.ts'
import { orUnavailable } from './doors/port-unavailable.ts'
import type { FollowedRules } from './follow-rules.ts'
import type { NodeHotKeys } from './hot-keys/node-hot-keys.ts'
import { faultLog } from './log/fault-log.ts'
import type { Log } from './log/log.ts'
import type { NodeData } from './node-data.ts'
import { NodeMetrics } from './node-metrics.ts'
import type { Processes } from './processes.ts'
import type { NodeQuotas } from './quotas/node-quotas.ts'
import type { Config } from './settings/config.ts'
import { packageFile, packageVersion } from './settings/package-file.ts'
import { StatsdExport } from './statsd.ts'
import type { NodeUsage } from './usage/open-usage.ts'

type MetricsOfNode = () => Promise<MergedMetrics>

/** What the admin port reports on: the processes that answer requests, the busiest keys, and current decisions. */
interface Watched {
  readonly processes: Processes
  readonly hotKeys: NodeHotKeys
  /** Its database, if it has one. */
  readonly data: NodeData | undefined
  readonly views: FleetViews
}

/** What --stats-open shows without a token. */
const STATS_PATHS = ['/stats', '/rlconfig', '/admin/v1/hot-keys']

/** Addresses and tokens that the admin port counts at the same time. */
const THROTTLED_KEYS = 10_000

/** Adds what the database keeps. */
function withStores(
  parts: AdminParts,
  { stores, fleet, ledger }: NodeQuotas,
  { pages, webhooks }: NodeUsage,
): AdminParts {
  const { store, tokens, audit, rules, apiKeys } = stores
  return parts
    .with(RECORDS, store)
    .with(TOKENS, tokens)
    .with(AUDIT, audit)
    .with(RULE_TABLE, rules)
    .with(API_KEYS, apiKeys)
    .with(USAGE, pages)
    .with(WEBHOOKS, webhooks)
    .with(CONFIRMATIONS, fleet)
    .with(LEDGER, ledger.service)
}

/** Opens the admin port. It answers until the very end of the process, when operators look most. */
export async function openAdmin(
  config: Config,
  log: Log,
  rules: FollowedRules,
  { processes, hotKeys, data, views }: Watched,
) {
  const node = data?.quotas
  const parts = views.parts.with(RULES, rules.current)
  if (data !== undefined) withStores(parts, data.quotas, data.usage)
  const admin = openAdminApi({
    parts,
    ...(node && { idempotency: node.stores.idempotency }),
    setTokens: config.adminTokens,
    throttleStore: new MemoryStore({ maxKeys: THROTTLED_KEYS }),
    secret: config.secret,
    version: packageVersion(),
    failed: faultLog(log),
  })
  if (node !== undefined) {
    node.ledger.admit = async (caller) => requireRole(await admin.access.identifyCaller(caller), 'ledger')
  }
  // With a database there is a token, or one is created before any request is answered.
  requireSafeBind(config.adminHost, node !== undefined || (await admin.access.tokens.hasAny()))
  const metrics = config.metrics.isOn ? nodeMetrics(config, rules, { processes, hotKeys, data }) : undefined
  const sources = {
    rules: rules.current,
    stats: async () => [...Object.entries(await processes.stats()), ...ruleStats(rules)],
    ...(metrics && { metrics }),
    health: async () => ({
      unready: node?.readiness.health.unready || (await processes.unready()),
      degraded: node?.readiness.health.degraded || (node?.ledger.degraded ?? ''),
    }),
    hotKeys: (scope: HotKeysScope) => hotKeys.ask(scope),
    failed: faultLog(log),
    admin,
    openPaths: [...(config.metricsOpen ? ['/metrics'] : []), ...(config.statsOpen ? STATS_PATHS : [])],
    dashboard: { folder: () => packageFile('dist/dashboard/') },
  }
  const server = adminServer(sources, [config.adminHost, ...config.adminNames])
  const place = { host: config.adminHost, port: config.adminPort }
  await orUnavailable('admin', place, listen(server, place))
  const knownAs = knownAddress(portOf(server), place.host)
  if (node !== undefined) node.name = nodeName(config, knownAs)
  const metricsServer = await openMetrics(config, log, metrics).catch((error: unknown) => {
    closeServer(server)
    throw error
  })
  const statsd =
    config.statsd && new StatsdExport(config.statsd, { log, reports: () => statsdReports(rules, processes) })
  return {
    address: reachable(portOf(server), place),
    /** What other nodes publish. */
    knownAs,
    /** Sends the last counts, while the receiver still knows their names. */
    flush: () => statsd?.stop(),
    close: () => {
      closeServer(server)
      if (metricsServer !== undefined) closeServer(metricsServer)
    },
  }
}

/** Returns the address at which others may find a port: one on every address is found by the name of the machine. */
function knownAddress(port: number, host: string): string {
  const name = host === '0.0.0.0' || host === '::' ? hostname() : host
  return `${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** Serves the metrics on a separate port, if one is configured. */
async function openMetrics(config: Config, log: Log, metrics: MetricsOfNode | undefined): Promise<Server | undefined> {
  if (metrics === undefined || config.metrics.place === undefined) return undefined
  const { host, port, path } = config.metrics.place
  const server = routeServer(new Map([[path, metricsRoute(metrics)]]), { failed: faultLog(log) })
  await orUnavailable('metrics', { host, port }, listen(server, { host, port }))
  log.info('metrics.started', `metrics are at http://${reachable(portOf(server), { host, port })}${path}`)
  return server
}

function closeServer(server: Server): void {
  server.close()
  server.closeAllConnections()
}

/** Adds what the node reports once to what its processes report. */
function nodeMetrics(
  config: Config,
  rules: FollowedRules,
  { processes, hotKeys, data }: Omit<Watched, 'views'>,
): MetricsOfNode {
  const { isPrimary } = processes
  const { maxRules } = config.metrics
  const node = new NodeMetrics(rules, {
    workers: () => processes.workers(),
    isPrimary,
    maxRules,
    version: packageVersion(),
    hotKeys: () => hotKeys.figures(),
    ...(data && { quotas: () => data.quotas.figures(), more: [data.usage.metrics, data.quotas.ledger] }),
  })
  return async () => mergedWith(await processes.metrics(), node.report(), 'primary')
}

async function statsdReports(rules: FollowedRules, processes: Processes): Promise<readonly CountsReport[]> {
  return [...(await processes.statsd()), { process: 'rules', counts: Object.fromEntries(ruleStats(rules)) }]
}

function ruleStats(rules: FollowedRules): [name: string, value: number][] {
  const { loads, refusals } = rules.counts()
  return [
    ['ratelimit.service.config_load_success', loads],
    ['ratelimit.service.config_load_error', refusals],
  ]
}
