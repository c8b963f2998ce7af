import { setTimeout as pause } from 'node:timers/promises'
import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { RuleOrigin } from 'sluice/internal/engine/live-rules'
import { tableVersionIn } from '../quotas/book/in-force.ts'
import { bothSinks, type QuotaOrigin, watchedSink } from '../quotas/book/live-quotas.ts'
import type { QuotaBook } from '../quotas/book/quota-book.ts'
import type { RemoteSource } from '../sources/remote-source.ts'
import { openDesk } from './admin/open-desk.ts'
import { openAdmin } from './admin-door.ts'
import { type DecisionOutlet, openOutlet } from './decisions/decision-outlet.ts'
import type { Door, DoorName } from './doors/door.ts'
import { openDoors } from './doors/doors.ts'
import type { Place } from './doors/listen.ts'
import { orUnavailable } from './doors/port-unavailable.ts'
import type { Reports } from './doors/reports.ts'
import { fleetOf, fleetOfOne } from './fleet.ts'
import { type FollowedRules, type FollowParts, followRules } from './follow-rules.ts'
import type { RoutesInForce, RoutesSource } from './gateway/routes-source.ts'
import { openHotKeys } from './hot-keys/node-hot-keys.ts'
import type { Log } from './log/log.ts'
import { closeData, deskParts, liveQuotasOf, type NodeData, openData } from './node-data.ts'
import { plural } from './plural.ts'
import type { NodeQuotas } from './quotas/node-quotas.ts'
import { PassedOverLog } from './quotas/passed-over-log.ts'
import { compatibilityLine } from './settings/compatibility.ts'
import type { Config, GatewayConfig } from './settings/config.ts'
import { packageVersion } from './settings/package-file.ts'
import { requireFiles } from './settings/pem-files.ts'
import { hasRemoteRules } from './settings/remote-rules.ts'
import { starting } from './starting.ts'
import { openTraces } from './traces/open-traces.ts'
import { requireTracePackages } from './traces/trace-packages.ts'

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
  /** Resolves when health checks have said yes: with a database, when its records are in force, or time is over. */
  readonly ready: Promise<void>
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
    const name = door as DoorName
    addresses[name] = await orUnavailable(name, place, open(name, place))
  }
  return addresses
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
    const tellInForce = (): void =>
      node?.has({ revision: quotas?.revision ?? -1, rules: tableVersionIn(rules.origin().inputs) })
    const unfollow = quotas && (await origin?.follow(watchedSink(quotas, tellInForce)))
    if (unfollow !== undefined) undo.push(unfollow)
    data?.usage.began(data)
    const outlet = openOutlet(config, log)
    const doors = openDoors(config, rules.current, log, {
      traces: await openTraces(config, log),
      decisions: outlet?.send,
      quotas: quotas?.current,
      gateway: routes && (await gatewayOf(config, routes, log)),
      passedOver,
      usage: data && (async (news) => data.usage.take(news, data)),
    })
    undo.push(() => doors.close())
    rules.watch(() => {
      doors.rulesChanged()
      tellInForce()
    })
    tellInForce()
    node?.readiness.watch((health) => doors.hear(health))
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
      ready: node?.readiness.ready ?? Promise.resolve(),
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
      ...(data && { usage: data.usage }),
      inForce: (least) => node?.has(least),
      keySecret: origin && (() => origin.keySecret()),
      routes: routes && ((inputs) => routes.inputFor(inputs)),
    })
    primary.prepare()
    node?.readiness.watch((health) => primary.hear(health))
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
      ready: node?.readiness.ready ?? Promise.resolve(),
      failed: eitherFails(primary.failed, node?.failed),
    }
  })
}
