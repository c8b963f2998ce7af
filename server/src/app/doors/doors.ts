import type { Server } from 'node:http'
import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { stepWithoutPattern } from 'sluice/internal/core/rules/match'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { Limiter } from 'sluice/internal/engine/limiter'
import { LoadShedder } from 'sluice/internal/engine/load-shedder'
import type { Notice, Store } from 'sluice/internal/engine/ports'
import type { Quotas } from 'sluice/internal/engine/quotas'
import { Renewals } from 'sluice/internal/engine/renewals'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import type { OpenStore } from 'sluice/internal/stores/open/open-store'
import { Throttle } from '../../edge/admin/access/throttle.ts'
import { Callers } from '../../edge/callers/callers.ts'
import { checkServer } from '../../edge/check/check-server.ts'
import type { GatewayPlan } from '../../edge/gateway-rules/file/compile-routes.ts'
import { Health } from '../../edge/health/health.ts'
import { registerHealth } from '../../edge/health/health-door.ts'
import { LeaseTokens } from '../../edge/leases/lease-tokens.ts'
import { ReservationTokens } from '../../edge/leases/reservation-tokens.ts'
import { registerLimiter } from '../../edge/limiter/limiter-door.ts'
import { registerRls } from '../../edge/rls/rls-door.ts'
import type { RlsOptions } from '../../edge/rls/rls-options.ts'
import type { GrpcServer } from '../../grpc/index.ts'
import { DecisionLog } from '../../observe/decision-log.ts'
import { type DoorObserver, type ObservedDoor, observerOf } from '../../observe/door-observer.ts'
import { HotKeys, TURNS_A_SECOND } from '../../observe/hot-keys/hot-keys.ts'
import { NO_HOT_KEYS } from '../../observe/hot-keys/hot-keys-report.ts'
import { ProcessWatch } from '../../observe/live/process-watch.ts'
import { RenewalMetrics } from '../../observe/metrics/renewal-metrics.ts'
import { reportShedding } from '../../observe/metrics/shed-metrics.ts'
import { RuleStats } from '../../observe/rule-stats.ts'
import { StoreStats } from '../../observe/store-stats.ts'
import { Unmatched } from '../../observe/unmatched.ts'
import type { OwnUsage } from '../../quotas/ports.ts'
import { UsageCounter } from '../../quotas/usage/usage-counter.ts'
import { type TellUsage, UsageTeller } from '../../quotas/usage/usage-teller.ts'
import { LineQueue } from '../decisions/line-queue.ts'
import { ProcessDesk } from '../desk/process-desk.ts'
import { faultLog } from '../log/fault-log.ts'
import type { Log } from '../log/log.ts'
import { renewalLog } from '../log/renewal-log.ts'
import { unmatchedLog } from '../log/unmatched-log.ts'
import { limiterPartsOf, storeFor } from '../settings/compatibility.ts'
import type { Config } from '../settings/config.ts'
import type { Traces } from '../traces/traces.ts'
import type { Door, DoorName } from './door.ts'
import { DoorMetrics, type MetricsSource } from './door-metrics.ts'
import { drainable } from './drain.ts'
import type { GatewayDoor, GatewayLimits } from './gateway-door.ts'
import { CertificateWatch } from './grpc-certificates.ts'
import { grpcDoor, grpcServer } from './grpc-door.ts'
import { listen, portOf, reachable } from './listen.ts'
import { openServiceStore } from './open-store.ts'
import type { Reporter } from './reports.ts'
import { snakeCase } from './service-stats.ts'
import { untilReached } from './until-reached.ts'

/** How long a connection may wait for its next request while its door drains. */
const IDLE_MS = 1_000

const NO_REDIS = 'Redis is not reached'
const NO_RULES = 'no rules are in force'

/** Doors are what one process needs to answer requests. */
export interface Doors {
  readonly all: Readonly<Record<Exclude<DoorName, 'gateway'>, Door>> & { readonly gateway?: Door }
  readonly storeName: string
  /** Resolves when the store can be reached, or when waiting for it would help nobody: see untilReached. */
  readonly ready: Promise<void>
  readonly reports: Reporter
  /** Where this process counts, if that is in its memory, and how it spells keys. */
  readonly counters: { readonly memory: MemoryStore | undefined; readonly keys: KeyEncoder }
  /** setRoutes has the gateway go by other routes. */
  setRoutes(plan: GatewayPlan): void
  /** rulesChanged is told when other rules are in force: without any it may not be healthy. */
  rulesChanged(): void
  /** notServing has health checks say no from now on. */
  notServing(): void
  /** close answers what is under way, gives back what the store lent, and ends. */
  close(): Promise<void>
}

/** DoorParts are what doors have beside rules and a store, where somebody asked for it. */
export interface DoorParts {
  readonly traces?: Traces | undefined
  /** Takes lines of the decision log, if there is one. It resolves when it may have more, and never rejects. */
  readonly decisions?: ((text: string) => Promise<void>) | undefined
  /** Counts records of quotas that are wrong, where there are quotas. */
  readonly passedOver?: MetricsSource | undefined
  /** What is known of customers. */
  readonly quotas?: (() => Quotas) | undefined
  /** The gateway of the process, where there is one: nothing of it is loaded where there is none. */
  readonly gateway?: ((parts: GatewayLimits) => GatewayDoor) | undefined
  /** Takes what customers used, where that is kept. */
  readonly usage?: TellUsage | undefined
}

/** openDoors opens the store and makes the doors to it. Nothing listens yet. */
export function openDoors(config: Config, rules: () => RuleSet, log: Log, parts: DoorParts = {}): Doors {
  const health = new Health()
  let isLeaving = false
  let arrive = (): void => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const storeStats = new StoreStats()
  const ruleStats = new RuleStats({ asReference: config.compatibility !== undefined })
  const unmatched = new Unmatched(unmatchedLog(log))
  const more = parts.passedOver === undefined ? [] : [parts.passedOver]
  const renewalMetrics = new RenewalMetrics()
  const renewals = openRenewals(renewalMetrics, log)
  const metrics = config.metrics.isOn
    ? new DoorMetrics(rules, config.metrics.maxRules, [
        ...more,
        renewalMetrics,
        { report: (into) => shedder && reportShedding(into, shedder, config.gateway !== undefined) },
        { report: (into) => gateway?.report(into) },
      ])
    : undefined
  const statsdStats = config.statsd === undefined ? undefined : new RuleStats({ asReference: true })
  const watch = new ProcessWatch(config.redisUrl !== undefined)
  // Until it is known that Redis can be reached, it is not.
  let isMissingRedis = config.healthNeedsRedis && config.redisUrl !== undefined
  const judge = (): void => {
    if (isLeaving) return
    const isMissingRules = config.healthNeedsRules && rules().domains.size === 0
    health.set(!isMissingRedis && !isMissingRules, isMissingRedis ? NO_REDIS : NO_RULES)
  }
  judge()
  const open = openServiceStore(
    config,
    log,
    storeStats,
    (isReached) => {
      if (isReached) arrive()
      isMissingRedis = config.healthNeedsRedis && !isReached
      judge()
    },
    { metrics: metrics?.store, watch },
  )
  const store = storeFor(config, open.store)
  const tls = config.grpc.tls && new CertificateWatch(config.grpc.tls, (options) => grpc.setTls(options), log)
  const hotKeys = config.hotKeys ? new HotKeys(performance.now()) : undefined
  const turning = hotKeys && setInterval(() => hotKeys.turn(performance.now()), 1_000 / TURNS_A_SECOND).unref()
  const { traces, quotas } = parts
  const shedder = shedderOf(config, open.keys, quotas)
  const decisions = openDecisionLog(config, rules, open.keys, parts)
  const desk = new ProcessDesk({ rules, quotas, entries: config.callerEntries, keys: open.keys, store: open.store })
  hearCallers(open, desk)
  const asked = [traces?.observer, decisions?.observer].filter((observer) => observer !== undefined)
  const counting = [metrics?.decisions, statsdStats, hotKeys].filter((observer) => observer !== undefined)
  const usage = openUsageCounter(config, parts)
  const observers: readonly DoorObserver[] = [
    ruleStats,
    unmatched,
    ...desk.observers,
    ...counting,
    ...asked,
    ...(usage?.observers ?? []),
  ]
  const limiterOf = (door: ObservedDoor): Limiter<Store> =>
    new Limiter(rules, store, {
      keepsTurns: true,
      ...open.parts,
      ...limiterPartsOf(config),
      shadow: config.shadowMode,
      ...(quotas !== undefined && { quotas }),
      shedder,
      renewals,
      observer: observerOf(door, observers),
    })
  const limiters = { rls: limiterOf('rls'), grpc: limiterOf('grpc'), http: limiterOf('http') }
  const { http, grpc, rls } = makeServers(config, limiters, {
    health,
    log,
    shownValue: secretsHidden(rules, open.keys),
    readsTraces: asked.length > 0,
    usage: quotas && desk,
  })
  tls?.start()
  const gateway = parts.gateway?.({ limiter: limiterOf('gateway'), readsTraces: asked.length > 0, shedder })
  const elsewhere = { store: () => open.stats(), grpc: () => grpc.stats }
  return {
    all: { http: httpDoor(http), grpc: grpcDoor(grpc, config), ...(gateway && { gateway }) },
    storeName: open.name,
    ready: Promise.all([
      config.redisUrl === undefined ? undefined : untilReached(arrived, open.ready),
      // In a worker, connections come from the primary.
      config.workers > 1 ? gateway?.open() : undefined,
    ]).then(() => {}),
    reports: {
      stats: () =>
        Object.fromEntries([
          ...rls.calls.list(),
          ...ruleStats.list(),
          ...unmatched.list(),
          ...storeStats.list(),
          ...named('sluice.store', open.stats()),
          ...(gateway === undefined ? grpcStats(grpc) : named('sluice.gateway', gateway.stats)),
        ]),
      metrics: () => metrics?.report(elsewhere),
      counted: () => metrics?.counted(elsewhere),
      unready: () => health.unready,
      statsd: () => Object.fromEntries(statsdStats === undefined ? [] : [...rls.calls.list(), ...statsdStats.list()]),
      hotKeys: async () => (await hotKeys?.gather()) ?? NO_HOT_KEYS,
      live: () => ({ ...desk.live.take(), process: watch.take() }),
      activity: () => desk.live.activity.report(Date.now()),
      owners: (spelled) => desk.owners(spelled),
      refusals: (about) => desk.refusalsOf(about),
      nearLimits: () => desk.nearLimits.list(),
      seenKeys: (about) => desk.seenKeys(about),
    },
    counters: { memory: open.memory, keys: open.keys },
    setRoutes: (plan) => gateway?.setRoutes(plan),
    rulesChanged: judge,
    notServing: () => {
      isLeaving = true
      health.set(false, 'draining')
    },
    async close() {
      this.notServing()
      health.leave()
      // A door that fails does not cut what the others still answer.
      const drains = await Promise.allSettled(Object.values(this.all).map((door) => door.drain(config.drainTimeoutMs)))
      unmatched.stop()
      metrics?.stop()
      watch.stop()
      shedder?.close()
      renewals.close()
      clearInterval(turning)
      tls?.stop()
      await Promise.all([open.close(), decisions?.close(), traces?.close(), usage?.close()])
      for (const drained of drains) if (drained.status === 'rejected') throw drained.reason
    },
  }
}

/** openRenewals makes what keeps the places of requests that run for long. */
function openRenewals(metrics: RenewalMetrics, log: Log): Renewals {
  const logged = renewalLog(log)
  return new Renewals({
    renewed: (renewal, count) => {
      metrics.renewed(renewal, count)
      logged.renewed(renewal, count)
    },
  })
}

/** shedderOf makes what sheds load, where a layer is on, or may be switched on while the process runs. A gateway's upstreams may. */
function shedderOf(
  { shedding, gateway }: Config,
  keys: KeyEncoder,
  quotas: DoorParts['quotas'],
): LoadShedder | undefined {
  const { worker, fleet } = shedding
  if (worker.mode === 'off' && fleet === undefined && quotas === undefined && gateway === undefined) return undefined
  // Where nothing can switch it on, nobody has to measure how busy the worker is.
  const measured = worker.mode === 'off' && quotas === undefined ? undefined : worker
  return new LoadShedder({ worker: measured, fleet, keys, modes: quotas && ((layer) => quotas().layers?.(layer)) })
}

/** openDecisionLog makes the observer that writes the decision log, if there is one. */
function openDecisionLog(
  { decisionLog, region, shadowMode }: Config,
  rules: () => RuleSet,
  keys: KeyEncoder,
  { decisions: send }: DoorParts,
) {
  if (decisionLog === undefined || send === undefined) return undefined
  const queue = new LineQueue(send)
  const observer = new DecisionLog({ ...decisionLog, region, shadowMode }, { rules, keys, write: queue.write })
  const close = (): Promise<void> => {
    observer.close()
    return queue.close()
  }
  return { observer, close }
}

/** hearCallers has a process forget what it knows of callers that other nodes were told to reset. */
function hearCallers({ redis }: OpenStore, desk: ProcessDesk): void {
  const noticed = ({ kind, key }: Notice): void => {
    if (kind === 'reset_caller') void desk.forget(key)
  }
  redis?.().then(
    (opened) => opened.redis.listen({ noticed, connected() {} }),
    () => {},
  )
}

/** openUsageCounter makes the observer that counts what customers use, where somebody keeps that. */
function openUsageCounter({ shadowMode }: Config, { quotas, usage: tell }: DoorParts) {
  if (quotas === undefined || tell === undefined) return undefined
  const counter = new UsageCounter(quotas, { isShadow: shadowMode, full: () => teller.now() })
  const teller = new UsageTeller(counter, tell)
  return { observers: [counter], close: () => teller.close() }
}

/** The services whose health can be asked for by name. */
const SERVICES = ['envoy.service.ratelimit.v3.RateLimitService', 'sluice.v1.Limiter']

/** secretsHidden spells values as they may be shown: those of keys that the rules in force mark as secret as a hash. */
function secretsHidden(rules: () => RuleSet, keys: KeyEncoder): NonNullable<RlsOptions['shownValue']> {
  return (name, entry) => {
    const { domains } = rules()
    // Where no rules define the domain, a key is secret that is secret in any other.
    const domain = domains.get(name) ?? [...domains.values()].find(({ secretKeys }) => secretKeys.has(entry.key))
    const step = domain && stepWithoutPattern(domain, entry)
    return step?.secret ? keys.value(entry.value, step) : entry.value
  }
}

/** What the servers of a process share beside the limiter. */
interface Shared extends Required<Pick<RlsOptions, 'shownValue'>> {
  readonly health: Health
  readonly log: Log
  /** Somebody wants to know the traces of requests. */
  readonly readsTraces: boolean
  /** What owners of API keys see; undefined where there are no quotas. */
  readonly usage: OwnUsage | undefined
}

/** makeServers joins the doors with what they share: the limiter, health, leases and counts. */
function makeServers(
  config: Config,
  limiters: Readonly<Record<Exclude<ObservedDoor, 'gateway'>, Limiter<Store>>>,
  { health, log, shownValue, readsTraces, usage }: Shared,
) {
  const { shadowMode, responseHeaders, requestHeaders, dynamicMetadata, unitMultipliers } = config
  const failed = faultLog(log)
  const callers = new Callers({ tokens: config.tokens, trustAll: config.trustCallers })
  const leases = new LeaseTokens(leaseSecretOf(config))
  const reservations = new ReservationTokens(leaseSecretOf(config))
  const grpc = grpcServer(config.grpc, failed)
  const rls = registerRls(grpc, limiters.rls, {
    shadowMode,
    responseHeaders,
    requestHeaders,
    dynamicMetadata,
    unitMultipliers,
    shownValue,
    asReference: config.compatibility !== undefined,
    callers,
    readsTraces,
    failed,
  })
  registerLimiter(grpc, limiters.grpc, { leases, callers, shadowMode, readsTraces, failed })
  registerHealth(grpc, health, SERVICES)
  const ownUsage = config.customerUsage ? { usage, throttle: ownThrottle() } : undefined
  const http = checkServer(limiters.http, {
    rls,
    leases,
    reservations,
    health,
    callers,
    shadowMode,
    readsTraces,
    failed,
    ownUsage,
  })
  return { http, grpc, rls }
}

/** Customers who look at their usage at once, by address and by key. */
const THROTTLED_KEYS = 10_000

function ownThrottle(): Throttle {
  return new Throttle(new MemoryStore({ maxKeys: THROTTLED_KEYS }))
}

/**
 * leaseSecretOf keys the tokens of leases. A process that counts in memory numbers its leases from 1: a token of the
 * process before it, under the same secret, would give back what somebody else holds.
 */
function leaseSecretOf({ redisUrl, secret, leaseSecret }: Config): string {
  return redisUrl === undefined ? leaseSecret : (secret ?? leaseSecret)
}

/** grpcStats are the counts of the gRPC server, in the manner of the others. */
function* grpcStats({ stats }: GrpcServer): Iterable<readonly [name: string, value: number]> {
  const { closedFor, ...counts } = stats
  yield* named('sluice.grpc', counts)
  yield* named('sluice.grpc.closed_for', closedFor)
}

/** named spells counts as /stats does. */
function* named(prefix: string, counts: Readonly<Record<string, number>>): Iterable<readonly [string, number]> {
  for (const [name, value] of Object.entries(counts)) yield [`${prefix}.${snakeCase(name)}`, value]
}

/** httpDoor is an HTTP server as a door. */
export function httpDoor(server: Server): Door {
  const drain = drainable(server)
  let isWatching = false
  return {
    listen: async (place) => {
      await listen(server, place)
      return reachable(portOf(server), place)
    },
    take: (socket) => {
      // Node.js starts to watch over connections when a server listens. Without that, slow clients are never cut off.
      if (!isWatching) server.emit('listening')
      isWatching = true
      // As the server's own connections have it: a client may end its side before it has the answer.
      socket.allowHalfOpen = true
      server.emit('connection', socket)
    },
    // Its connections are many, and come and go.
    shed: () => {},
    drain: (deadlineMs) => drain({ idleMs: IDLE_MS, deadlineMs }),
  }
}
