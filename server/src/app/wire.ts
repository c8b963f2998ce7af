import type { Server } from 'node:http'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { RuleOrigin } from 'sluice/internal/engine/live-rules'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { requireSafeBind } from '../edge/admin/access/loopback.ts'
import { adminServer } from '../edge/admin/admin-server.ts'
import type { HotKeysScope } from '../edge/admin/hot-keys-route.ts'
import { metricsRoute } from '../edge/admin/metrics-route.ts'
import { type AdminPorts, NO_PORTS, openAdminApi } from '../edge/admin/open-admin-api.ts'
import { routeServer } from '../edge/http/routes.ts'
import { type MergedMetrics, mergedWith, mergeInto } from '../observe/metrics/merge-reports.ts'
import type { CountsReport } from '../observe/statsd/statsd-counts.ts'
import { bothSinks, LiveQuotas, type QuotaOrigin } from '../quotas/book/live-quotas.ts'
import type { PassOver } from '../quotas/book/passed-over.ts'
import type { QuotaBook } from '../quotas/book/quota-book.ts'
import { hashApiKey } from '../quotas/tables/api-key-hash.ts'
import type { RemoteSource } from '../sources/remote-source.ts'
import { type DeskParts, type OpenDesk, openDesk } from './admin/open-desk.ts'
import { type DecisionOutlet, openOutlet } from './decisions/decision-outlet.ts'
import type { Door, DoorName } from './doors/door.ts'
import { type Doors, openDoors } from './doors/doors.ts'
import { listen, type Place, portOf, reachable } from './doors/listen.ts'
import type { Reports } from './doors/reports.ts'
import type { ServiceStats } from './doors/service-stats.ts'
import { type FollowedRules, type FollowParts, followRules } from './follow-rules.ts'
import type { RoutesInForce, RoutesSource } from './gateway/routes-source.ts'
import { type NodeHotKeys, openHotKeys } from './hot-keys/node-hot-keys.ts'
import { faultLog } from './log/fault-log.ts'
import type { Log } from './log/log.ts'
import { NodeMetrics, type NodeState } from './node-metrics.ts'
import { plural } from './plural.ts'
import type { NodeQuotas } from './quotas/node-quotas.ts'
import { PassedOverLog } from './quotas/passed-over-log.ts'
import { compatibilityLine } from './settings/compatibility.ts'
import type { Config, GatewayConfig } from './settings/config.ts'
import { packageFile, packageVersion } from './settings/package-file.ts'
import { requireFiles } from './settings/pem-files.ts'
import { hasRemoteRules } from './settings/remote-rules.ts'
import { StatsdExport } from './statsd.ts'
import { openTraces } from './traces/open-traces.ts'
import { requireTracePackages } from './traces/trace-packages.ts'
import type { NodeUsage } from './usage/open-usage.ts'
import type { Primary } from './workers/primary.ts'

/** Where doors can be reached. A gateway has no other door for requests. */
export type Addresses = Readonly<Record<'http' | 'grpc' | 'admin', string>> & { readonly gateway?: string }

/** A Service is a running Sluice. */
export interface Service {
  /** Where its doors can be reached from this machine, as `localhost:8080`. */
  readonly addresses: Addresses
  /** Where counters live, for people. */
  readonly storeName: string
  /** The rules in force. */
  rules(): RuleSet
  /** The quotas in force; undefined where there is no origin of any. */
  readonly quotas: (() => QuotaBook) | undefined
  /** reload reads the rule files at once, and logs what came of it. The file of the decision log is opened anew. */
  reload(): Promise<void>
  /** close says that it does not serve any more, answers what is under way, and ends. */
  close(): Promise<void>
  /** kill ends what would not end with this process. */
  kill(): void
  /** Rejects when the service cannot go on. */
  readonly failed: Promise<never>
}

/**
 * startService joins everything the service is made of, and starts it: in this process, or in several. A start that waits for
 * its rules rejects when the signal is aborted.
 */
export async function startService(
  config: Config,
  log: Log,
  origin?: QuotaOrigin,
  signal?: AbortSignal,
): Promise<Service> {
  for (const warning of config.warnings) log.warn('config.warning', warning)
  if (config.rules.length === 0 && !hasRemoteRules(config.remoteRules) && config.gateway === undefined)
    throw new SluiceError('RULES_MISSING', 'serve', 'nothing says where the rules are')
  if (config.compatibility !== undefined) log.info('config.compatibility', compatibilityLine(config.compatibility))
  const given = { origin, signal }
  return config.workers > 1 ? startWorkers(config, log, given) : startAlone(config, log, given)
}

/** placesOf says where each door listens. */
function placesOf({ host, httpPort, grpc, gateway }: Config): Readonly<Partial<Record<DoorName, Place>>> {
  if (gateway !== undefined) return { gateway: { host: gateway.host, port: gateway.port } }
  return {
    http: { host, port: httpPort },
    grpc: grpc.socketPath === undefined ? { host: grpc.host, port: grpc.port } : { path: grpc.socketPath },
  }
}

/** listenAll opens every port of a service, and returns where its doors can be reached. */
async function listenAll(
  config: Config,
  open: (door: DoorName, place: Place) => Promise<string>,
): Promise<Omit<Addresses, 'admin'>> {
  const addresses: { http: string; grpc: string; gateway?: string } = { http: '', grpc: '' }
  for (const [door, place] of Object.entries(placesOf(config))) {
    addresses[door as DoorName] = await open(door as DoorName, place)
  }
  return addresses
}

/** Addresses and tokens that the admin port counts at once. */
const THROTTLED_KEYS = 10_000

/** storePorts are the parts of the admin API that are kept in the database. */
function storePorts({ stores }: NodeQuotas, { pages, webhooks }: NodeUsage): Partial<AdminPorts> {
  const { store, tokens, audit, rules, apiKeys } = stores
  return { quotas: store, tokens, audit, usage: pages, webhooks, ruleTable: rules, apiKeys }
}

/** openAdmin opens the door for operators. It answers until the very end: that is when they look. */
async function openAdmin(config: Config, log: Log, rules: FollowedRules, { fleet, hotKeys, data, desk }: Watched) {
  const node = data?.quotas
  const ports: AdminPorts = {
    ...NO_PORTS,
    rules: rules.current,
    ...desk.ports,
    ...(data && storePorts(data.quotas, data.usage)),
  }
  const admin = openAdminApi({
    ports,
    ...(node && { idempotency: node.stores.idempotency }),
    setTokens: config.adminTokens,
    throttleStore: new MemoryStore({ maxKeys: THROTTLED_KEYS }),
    secret: config.secret,
    version: packageVersion(),
    failed: faultLog(log),
  })
  // A database has a token, or gets one before it answers anybody.
  requireSafeBind(config.adminHost, node !== undefined || (await admin.access.tokens.hasAny()))
  const metrics = config.metrics.isOn ? nodeMetrics(config, rules, { fleet, hotKeys, data }) : undefined
  const sources = {
    rules: rules.current,
    stats: async () => [...Object.entries(await fleet.stats()), ...ruleStats(rules)],
    ...(metrics && { metrics }),
    unready: async () => (await fleet.unready()) || (node?.unready() ?? ''),
    hotKeys: (scope: HotKeysScope) => hotKeys.ask(scope),
    failed: faultLog(log),
    admin,
    openPaths: config.metricsOpen ? ['/metrics'] : [],
    dashboard: { folder: () => packageFile('dist/dashboard/') },
  }
  const server = adminServer(sources, [config.adminHost, ...config.adminNames])
  const place = { host: config.adminHost, port: config.adminPort }
  await listen(server, place)
  const beside = await openMetrics(config, log, metrics).catch((error: unknown) => {
    closeServer(server)
    throw error
  })
  const statsd = config.statsd && new StatsdExport(config.statsd, { log, reports: () => statsdReports(rules, fleet) })
  return {
    address: reachable(portOf(server), place),
    /** What other nodes are told. */
    knownAs: knownAddress(portOf(server), place.host),
    /** flush sends the last counts, while there is somebody who knows them. */
    flush: () => statsd?.stop(),
    close: () => {
      closeServer(server)
      if (beside !== undefined) closeServer(beside)
    },
  }
}

/** knownAddress is where others may find a port: one on every address is found by the name of the machine. */
function knownAddress(port: number, host: string): string {
  const name = host === '0.0.0.0' || host === '::' ? hostname() : host
  return `${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** openMetrics serves the metrics alone, where that is wanted. */
async function openMetrics(config: Config, log: Log, metrics: MetricsOfNode | undefined): Promise<Server | undefined> {
  if (metrics === undefined || config.metrics.place === undefined) return undefined
  const { host, port, path } = config.metrics.place
  const server = routeServer(new Map([[path, metricsRoute(metrics)]]), { failed: faultLog(log) })
  await listen(server, { host, port })
  log.info('metrics.started', `metrics are at http://${reachable(portOf(server), { host, port })}${path}`)
  return server
}

function closeServer(server: Server): void {
  server.close()
  server.closeAllConnections()
}

type MetricsOfNode = () => Promise<MergedMetrics>

/** What the admin port tells of: the processes that answer requests, the busiest keys, and what they decide now. */
interface Watched {
  readonly fleet: Fleet
  readonly hotKeys: NodeHotKeys
  /** Its database, if it has one. */
  readonly data: NodeData | undefined
  readonly desk: OpenDesk
}

/** A Fleet is the processes that answer requests, or the one that does. */
interface Fleet extends Pick<NodeState, 'workers' | 'isPrimary'> {
  stats(): MaybePromise<ServiceStats>
  /** What they have counted. */
  metrics(): MaybePromise<MergedMetrics>
  statsd(): MaybePromise<readonly CountsReport[]>
  unready(): MaybePromise<string>
}

/** nodeMetrics adds to what the processes tell what the node tells once. */
function nodeMetrics(
  config: Config,
  rules: FollowedRules,
  { fleet, hotKeys, data }: Omit<Watched, 'desk'>,
): MetricsOfNode {
  const { workers, isPrimary } = fleet
  const { maxRules } = config.metrics
  const node = new NodeMetrics(rules, {
    workers,
    isPrimary,
    maxRules,
    version: packageVersion(),
    hotKeys: () => hotKeys.figures(),
    ...(data && { quotas: () => data.quotas.figures(), more: [data.usage.metrics] }),
  })
  return async () => mergedWith(await fleet.metrics(), node.report(), 'primary')
}

async function statsdReports(rules: FollowedRules, fleet: Fleet): Promise<readonly CountsReport[]> {
  return [...(await fleet.statsd()), { process: 'rules', counts: Object.fromEntries(ruleStats(rules)) }]
}

/** fleetOfOne is the fleet of a service without workers. */
function fleetOfOne({ reports }: Doors): Fleet {
  return {
    isPrimary: false,
    workers: () => ({ ready: 1, starting: 0 }),
    stats: reports.stats,
    metrics: () => {
      const merged: MergedMetrics = new Map()
      mergeInto(merged, reports.metrics()?.families ?? {}, '1')
      return merged
    },
    statsd: () => [{ process: '1', counts: reports.statsd() }],
    unready: reports.unready,
  }
}

function fleetOf(primary: Primary): Fleet {
  return {
    isPrimary: true,
    workers: () => primary.workerStates(),
    stats: () => primary.stats(),
    metrics: () => primary.metrics(),
    statsd: () => primary.statsdCounts(),
    unready: () => primary.unready(),
  }
}

function ruleStats(rules: FollowedRules): [name: string, value: number][] {
  const { loads, refusals } = rules.counts()
  return [
    ['ratelimit.service.config_load_success', loads],
    ['ratelimit.service.config_load_error', refusals],
  ]
}

/** Undo is what to do when the next step of a start fails, in the opposite order. */
type Undo = (() => unknown)[]

/** starting takes back what was started when a step fails. */
async function starting<T>(start: (undo: Undo) => Promise<T>): Promise<T> {
  const undo: Undo = []
  try {
    return await start(undo)
  } catch (error) {
    for (const step of undo.reverse()) await step()
    throw error
  }
}

/** eitherFails rejects with the first of two. Those who are interested wait for it. */
function eitherFails(one: Promise<never>, other: Promise<never> | undefined): Promise<never> {
  if (other === undefined) return one
  const first = Promise.race([one, other])
  first.catch(() => {})
  return first
}

/** reload is what SIGHUP asks for: rules are read again, and what others may have put aside is begun anew. */
async function reload(
  rules: FollowedRules,
  outlet: DecisionOutlet | undefined,
  data: NodeData | undefined,
): Promise<void> {
  await outlet?.reopen()
  await data?.usage.reopen()
  await rules.reload()
}

/** liveQuotasOf makes the book of a process that follows an origin. */
function liveQuotasOf(config: Config, origin: QuotaOrigin | undefined, passOver?: PassOver): LiveQuotas | undefined {
  if (origin === undefined) return undefined
  return new LiveQuotas({
    hash: (key) => hashApiKey(origin.keySecret(), key),
    entries: config.callerEntries,
    passOver,
  })
}

/** NodeData is the database of a node, and what the node does with it beside decisions. */
interface NodeData {
  readonly quotas: NodeQuotas
  readonly usage: NodeUsage
}

/** openData opens the database of a node, where it is told of one. Nothing of it is loaded where it is not. */
async function openData(config: Config, log: Log, undo: Undo): Promise<NodeData | undefined> {
  if (config.database === undefined) return undefined
  const { openNodeQuotas } = await import('./quotas/node-quotas.ts')
  const { openUsage, requireUsagePackages } = await import('./usage/open-usage.ts')
  requireUsagePackages(config)
  const quotas = await openNodeQuotas(config, log)
  if (quotas === undefined) return undefined
  const data = { quotas, usage: openUsage({ quotas: quotas.stores, config, log }) }
  undo.push(() => closeData(data))
  return data
}

/** deskParts are what the desk of a node with a database knows beside. */
function deskParts({
  quotas,
  usage,
}: NodeData): Pick<DeskParts, 'usage' | 'usageRows' | 'database' | 'audited' | 'audit'> {
  const { audit, health, db } = quotas.stores
  return {
    usage: usage.pages,
    usageRows: { db, waiting: usage.waiting },
    audit,
    database: () => (health().isUp ? 'up' : 'away'),
    audited: (action, { kind, id }, by) =>
      audit.record(by, async () => {
        const customerId = kind === 'customers' ? id : undefined
        return {
          result: undefined,
          entries: [{ action, target: `${kind}/${id}`, customerId, before: undefined, after: undefined }],
        }
      }),
  }
}

/** closeData writes what is still to be written, and ends. */
async function closeData(data: NodeData | undefined): Promise<void> {
  await data?.usage.close()
  await data?.quotas.close()
}

interface FollowedParts extends Pick<FollowParts, 'changed' | 'signal'> {
  readonly node: NodeQuotas | undefined
  readonly routes: RoutesSource | undefined
}

/** followAll follows the rules of files, and beside them those of the database. */
async function followAll(config: Config, log: Log, { node, routes, ...parts }: FollowedParts): Promise<FollowedRules> {
  const rules = await followRules(config, log, {
    ...parts,
    remote: await remoteSourcesOf(config, log),
    beside: [...(node ? [node.rules] : []), ...(routes ? [routes] : [])],
  })
  node?.rules.checkBeside(() => rules.origin().inputs)
  return rules
}

/** remoteSourcesOf loads what only rules from elsewhere need. */
async function remoteSourcesOf(config: Config, log: Log): Promise<readonly RemoteSource[]> {
  if (!hasRemoteRules(config.remoteRules)) return []
  const { openRemoteSources } = await import('./rules/remote-sources.ts')
  return openRemoteSources(config, log)
}

/** routesOf loads what only a gateway needs. */
async function routesOf(config: GatewayConfig): Promise<RoutesSource> {
  const { RoutesSource: Source } = await import('./gateway/routes-source.ts')
  return new Source(config)
}

async function gatewayOf(config: Config, routes: RoutesSource, log: Log) {
  const { gatewayDoor } = await import('./doors/gateway-door.ts')
  return gatewayDoor(config, routes.current.plan, log)
}

/** followRoutes tells of every change of the routes, and of what may not be meant in them. */
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

/** What a start is given beside its settings. */
interface Given {
  readonly origin: QuotaOrigin | undefined
  readonly signal: AbortSignal | undefined
}

function startAlone(config: Config, log: Log, given: Given): Promise<Service> {
  return starting(async (undo) => {
    const data = await openData(config, log, undo)
    const node = data?.quotas
    const routes = config.gateway && (await routesOf(config.gateway))
    const rules = await followAll(config, log, { node, routes, signal: given.signal })
    undo.push(rules.stop)
    const origin = given.origin ?? node
    const passedOver = origin && new PassedOverLog(log)
    const quotas = liveQuotasOf(config, origin, passedOver?.hear)
    const unfollow = quotas && (await origin?.follow(quotas))
    if (unfollow !== undefined) undo.push(unfollow)
    const outlet = openOutlet(config, log)
    const doors = openDoors(config, rules.current, log, {
      traces: await openTraces(config, log),
      decisions: outlet?.send,
      quotas: quotas?.current,
      gateway: routes && (await gatewayOf(config, routes, log)),
      passedOver,
      usage: data && (async (news) => data.usage.take(news)),
    })
    undo.push(() => doors.close())
    rules.watch(() => doors.rulesChanged())
    followRoutes(routes, rules, log, ({ plan }) => doors.setRoutes(plan))
    await doors.ready
    const addresses = await listenAll(config, (door, place) => (doors.all[door] as Door).listen(place))
    const hotKeys = openHotKeys(config, log, async () => [await doors.reports.hotKeys()])
    undo.push(() => hotKeys.close())
    const startedAtMs = Date.now()
    let adminAddress: string | undefined
    const desk = openDesk({
      config,
      rules: rules.current,
      book: () => quotas?.current(),
      ask: async (name, about) => [(await doors.reports[name](about)) as Reports[typeof name]],
      workers: () => [{ id: '1', state: 'ready', startedAtMs, pid: process.pid }],
      counters: doors.counters,
      version: packageVersion(),
      hotKeys: () => hotKeys.ask('fleet'),
      fileChanges: rules.fileChanges,
      adminAddress: () => adminAddress,
      ...(data && deskParts(data)),
    })
    undo.push(() => desk.close())
    const admin = await openAdmin(config, log, rules, { fleet: fleetOfOne(doors), hotKeys, data, desk })
    adminAddress = admin.knownAs
    node?.begin()
    return {
      addresses: { ...addresses, admin: admin.address },
      storeName: doors.storeName,
      rules: rules.current,
      quotas: quotas?.current,
      reload: () => reload(rules, outlet, data),
      close: async () => {
        rules.stop()
        unfollow?.()
        doors.notServing()
        if (config.drainDelayMs > 0) await pause(config.drainDelayMs)
        log.info('drain.closing', 'taking no new connections, answering what is under way')
        await doors.close()
        await outlet?.close()
        await admin.flush()
        await hotKeys.close()
        await desk.close()
        admin.close()
        await closeData(data)
      },
      kill: () => {},
      failed: node?.failed ?? new Promise<never>(() => {}),
    }
  })
}

function startWorkers(config: Config, log: Log, given: Given): Promise<Service> {
  requireFiles(config)
  return starting(async (undo) => {
    const { Primary } = await import('./workers/primary.ts')
    // Workers would find out, too, and their reason would be told late.
    if (config.traces !== undefined) requireTracePackages(config.traces)
    const outlet = openOutlet(config, log)
    const data = await openData(config, log, undo)
    const node = data?.quotas
    const origin = given.origin ?? node
    const routes = config.gateway && (await routesOf(config.gateway))
    const primary = new Primary(config, log, {
      origin: () => rules.origin(),
      decisions: (text) => void outlet?.send(text),
      ...(data && { usage: data.usage.take }),
      keySecret: origin && (() => origin.keySecret()),
      routes: routes && ((inputs) => routes.inputFor(inputs)),
    })
    primary.prepare()
    undo.push(() => primary.kill())
    const changed = (from: RuleOrigin): void => primary.applyRules(from)
    const rules = await followAll(config, log, { node, routes, changed, signal: given.signal })
    const quotas = liveQuotasOf(config, origin)
    const unfollow = quotas && (await origin?.follow(bothSinks(quotas, primary.quotas)))
    undo.push(
      rules.stop,
      () => unfollow?.(),
      () => primary.stop(),
      () => primary.kill(),
    )
    followRoutes(routes, rules, log, ({ input }) => primary.applyRoutes(input))
    const addresses = await listenAll(config, (door, place) => primary.listen(door, place))
    const hotKeys = openHotKeys(config, log, async () => (await primary.reports('hotKeys')).map(({ report }) => report))
    undo.push(() => hotKeys.close())
    let adminAddress: string | undefined
    const desk = openDesk({
      config,
      rules: rules.current,
      book: () => quotas?.current(),
      ask: async (name, about) => (await primary.reports(name, about)).map(({ report }) => report),
      workers: () => primary.workerList(),
      counters: undefined,
      version: packageVersion(),
      hotKeys: () => hotKeys.ask('fleet'),
      fileChanges: rules.fileChanges,
      adminAddress: () => adminAddress,
      ...(data && deskParts(data)),
    })
    undo.push(() => desk.close())
    const admin = await openAdmin(config, log, rules, { fleet: fleetOf(primary), hotKeys, data, desk })
    undo.push(admin.close)
    adminAddress = admin.knownAs
    await primary.start()
    node?.begin()
    return {
      addresses: { ...addresses, admin: admin.address },
      storeName: primary.storeName,
      rules: rules.current,
      quotas: quotas?.current,
      reload: () => reload(rules, outlet, data),
      close: async () => {
        rules.stop()
        unfollow?.()
        await admin.flush()
        await primary.stop()
        await outlet?.close()
        await hotKeys.close()
        await desk.close()
        admin.close()
        await closeData(data)
      },
      kill: () => primary.kill(),
      failed: eitherFails(primary.failed, node?.failed),
    }
  })
}
