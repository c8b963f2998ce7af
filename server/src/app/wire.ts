import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { QuotaOrigin } from '../quotas/book/live-quotas.ts'
import type { QuotaBook } from '../quotas/book/quota-book.ts'
import type { RemoteSource } from '../sources/remote-source.ts'
import { openFleetViews } from './admin/fleet-views.ts'
import { openAdmin } from './admin-door.ts'
import { type DecisionOutlet, openOutlet } from './decisions/decision-outlet.ts'
import type { DoorName } from './doors/door.ts'
import type { ListenAddress } from './doors/listen.ts'
import { orUnavailable } from './doors/port-unavailable.ts'
import { type FollowedRules, type FollowParts, followRules } from './follow-rules.ts'
import type { RoutesInForce, RoutesSource } from './gateway/routes-source.ts'
import { openHotKeys } from './hot-keys/node-hot-keys.ts'
import type { Log } from './log/log.ts'
import { closeData, liveQuotasOf, type NodeData, openData, viewParts } from './node-data.ts'
import { OneProcess } from './one-process.ts'
import { plural } from './plural.ts'
import type { Processes, ProcessParts } from './processes.ts'
import type { NodeQuotas } from './quotas/node-quotas.ts'
import { compatibilityLine } from './settings/compatibility.ts'
import type { Config, GatewayConfig } from './settings/config.ts'
import { packageVersion } from './settings/package-file.ts'
import { hasRemoteRules } from './settings/remote-rules.ts'
import { starting, type Undo } from './starting.ts'

/** Where doors can be reached. A gateway has no other door for requests. */
export type Addresses = Readonly<Record<'http' | 'grpc' | 'admin', string>> & { readonly gateway?: string }

/** A running Sluice service. */
export interface Service {
  /** Where its doors can be reached from this machine, as `localhost:8080`. */
  readonly addresses: Addresses
  /** Where counters live, for people. */
  readonly storeName: string
  /** The rules in force. */
  rules(): RuleSet
  /** The quotas in force; undefined where there is no origin of any. */
  readonly quotas: (() => QuotaBook) | undefined
  /** Reads the rule files now, and logs the outcome. Reopens the file of the decision log. */
  reload(): Promise<void>
  /** Stops accepting requests, answers the ones in flight, and ends. */
  close(): Promise<void>
  /** Kills what would outlive this process. */
  kill(): void
  /** Resolves when health checks have passed: with a database, when its records are in force, or when time is up. */
  readonly ready: Promise<void>
  /** Rejects when the service cannot continue. */
  readonly failed: Promise<never>
}

/**
 * Starts a service, in this process or in several. A start that waits for its rules rejects when the signal is aborted.
 */
export async function startService(
  config: Config,
  log: Log,
  origin?: QuotaOrigin,
  signal?: AbortSignal,
): Promise<Service> {
  for (const warning of config.warnings) log.warn('config.warning', warning)
  if (config.rules.length === 0 && !hasRemoteRules(config.remoteRules) && config.gateway === undefined)
    throw new SluiceError('RULES_MISSING', 'serve', 'no rules are given')
  if (config.compatibility !== undefined) log.info('config.compatibility', compatibilityLine(config.compatibility))
  return starting((undo) => start({ config, log, origin, signal }, undo))
}

/** Says where each door listens. */
function listenAddressesOf({
  host,
  httpPort,
  grpc,
  gateway,
}: Config): Readonly<Partial<Record<DoorName, ListenAddress>>> {
  if (gateway !== undefined) return { gateway: { host: gateway.host, port: gateway.port } }
  return {
    http: { host, port: httpPort },
    grpc: grpc.socketPath === undefined ? { host: grpc.host, port: grpc.port } : { path: grpc.socketPath },
  }
}

/** Opens every port of a service, and returns where its doors can be reached. */
async function listenAll(
  config: Config,
  open: (door: DoorName, at: ListenAddress) => Promise<string>,
): Promise<Omit<Addresses, 'admin'>> {
  const addresses: { http: string; grpc: string; gateway?: string } = { http: '', grpc: '' }
  for (const [door, at] of Object.entries(listenAddressesOf(config))) {
    const name = door as DoorName
    addresses[name] = await orUnavailable(name, at, open(name, at))
  }
  return addresses
}

/** Handles SIGHUP: reads the rules again, and reopens files that log rotation may have moved. */
async function reload(
  rules: FollowedRules,
  outlet: DecisionOutlet | undefined,
  data: NodeData | undefined,
): Promise<void> {
  await outlet?.reopen()
  await data?.usage.reopen()
  await rules.reload()
}

interface FollowedParts extends Pick<FollowParts, 'changed' | 'signal'> {
  readonly node: NodeQuotas | undefined
  readonly routes: RoutesSource | undefined
}

/** Follows the rules of files, together with the rules of the database. */
async function followAll(config: Config, log: Log, { node, routes, ...parts }: FollowedParts): Promise<FollowedRules> {
  const rules = await followRules(config, log, {
    ...parts,
    remote: await remoteSourcesOf(config, log),
    additional: [...(node ? [node.rules] : []), ...(routes ? [routes] : [])],
  })
  node?.rules.checkWith((text) => rules.check(node.rules, text))
  return rules
}

/** Loads the code for remote rules only where there are any. */
async function remoteSourcesOf(config: Config, log: Log): Promise<readonly RemoteSource[]> {
  if (!hasRemoteRules(config.remoteRules)) return []
  const { openRemoteSources } = await import('./rules/remote-sources.ts')
  return openRemoteSources(config, log)
}

/** Loads the code for a gateway only where there is one. */
async function routesOf(config: GatewayConfig): Promise<RoutesSource> {
  const { RoutesSource: Source } = await import('./gateway/routes-source.ts')
  return new Source(config)
}

/** Reports every change of the routes, and what looks unintended in them. */
function followRoutes(
  routes: RoutesSource | undefined,
  rules: FollowedRules,
  log: Log,
  changed: (routes: RoutesInForce) => void,
): void {
  const warn = ({ plan }: RoutesInForce): void => {
    for (const warning of plan.warnings) log.warn('routes.warning', warning)
  }
  routes?.follow(rules.current, (now) => {
    changed(now)
    warn(now)
    log.info('routes.loaded', `routes are in force: ${plural(now.plan.table.routes.length, 'route')}`)
  })
  if (routes !== undefined) warn(routes.current)
}

/** What a start is given. */
interface Given {
  readonly config: Config
  readonly log: Log
  readonly origin: QuotaOrigin | undefined
  readonly signal: AbortSignal | undefined
}

async function start({ config, log, origin: given, signal }: Given, undo: Undo): Promise<Service> {
  const outlet = openOutlet(config, log)
  const data = await openData(config, log, undo)
  const node = data?.quotas
  const origin = given ?? node
  const routes = config.gateway && (await routesOf(config.gateway))
  const processes = await processesOf({ config, log, data, origin, routes, outlet, rules: () => rules })
  undo.push(() => processes.kill())
  node?.readiness.watch((health) => processes.hear(health))
  const rules = await followAll(config, log, { node, routes, changed: processes.rulesChanged, signal })
  undo.push(rules.stop)
  const quotas = liveQuotasOf(config, origin, processes.passedOver?.hear)
  const unfollow = quotas && (await origin?.follow(processes.sinkFor(quotas)))
  undo.push(
    () => unfollow?.(),
    () => processes.stop(async () => {}),
    () => processes.kill(),
  )
  await processes.open(quotas)
  followRoutes(routes, rules, log, (now) => processes.setRoutes(now))
  const addresses = await listenAll(config, (door, at) => processes.listen(door, at))
  const hotKeys = openHotKeys(config, log, async () => processes.ask('hotKeys'))
  undo.push(() => hotKeys.close())
  let adminAddress: string | undefined
  const views = openFleetViews({
    config,
    rules: rules.current,
    book: () => quotas?.current(),
    ask: processes.ask,
    workers: () => processes.list(),
    counters: processes.counters,
    version: packageVersion(),
    hotKeys: () => hotKeys.ask('fleet'),
    fileChanges: rules.fileChanges,
    adminAddress: () => adminAddress,
    ...(data && viewParts(data, rules)),
  })
  undo.push(() => views.close())
  const admin = await openAdmin(config, log, rules, { processes, hotKeys, data, views })
  undo.push(admin.close)
  adminAddress = admin.knownAs
  await processes.start()
  node?.begin()
  return {
    addresses: { ...addresses, admin: admin.address },
    storeName: processes.storeName,
    rules: rules.current,
    quotas: quotas?.current,
    reload: () => reload(rules, outlet, data),
    close: async () => {
      rules.stop()
      unfollow?.()
      await processes.stop(async () => admin.flush())
      await outlet?.close()
      await hotKeys.close()
      await views.close()
      admin.close()
      await closeData(data)
    },
    kill: () => processes.kill(),
    ready: node?.readiness.ready ?? Promise.resolve(),
    failed: eitherFails(processes.failed, node?.failed),
  }
}

async function processesOf(parts: ProcessParts): Promise<Processes> {
  if (parts.config.workers <= 1) return new OneProcess(parts)
  const { WorkerProcesses } = await import('./worker-processes.ts')
  return new WorkerProcesses(parts)
}

/** Rejects with the first of two failures. */
function eitherFails(one: Promise<never>, other: Promise<never> | undefined): Promise<never> {
  if (other === undefined) return one
  const first = Promise.race([one, other])
  first.catch(() => {})
  return first
}
