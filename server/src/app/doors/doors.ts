import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { Limiter } from 'sluice/internal/engine/limiter'
import { LoadShedder } from 'sluice/internal/engine/load-shedder'
import type { Store } from 'sluice/internal/engine/ports'
import { Renewals } from 'sluice/internal/engine/renewals'
import type { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import type { OpenStore } from 'sluice/internal/stores/open/open-store'
import type { NodeLedgerPort } from '../../admin/ledger/grpc/ledger-door.ts'
import { ProcessView } from '../../admin/process/process-view.ts'
import type { GatewayPlan } from '../../edge/gateway-rules/file/compile-routes.ts'
import type { NodeHealth } from '../../edge/health/health.ts'
import type { GrpcServer } from '../../grpc/index.ts'
import { RulePayer } from '../../ledger/rules/rule-payer.ts'
import type { ObservedDoor } from '../../observe/door-observer.ts'
import { RenewalMetrics } from '../../observe/metrics/renewal-metrics.ts'
import { reportShedding } from '../../observe/metrics/shed-metrics.ts'
import type { Reporter } from '../../observe/reports/reports.ts'
import { ledgerLog } from '../log/ledger-log.ts'
import type { Log } from '../log/log.ts'
import { renewalLog } from '../log/renewal-log.ts'
import { limiterPartsOf, storeFor } from '../settings/compatibility.ts'
import type { Config } from '../settings/config.ts'
import type { Door, DoorName } from './door.ts'
import type { MetricsSource } from './door-metrics.ts'
import type { GatewayDoor, GatewayLimits } from './gateway-door.ts'
import { CertificateWatch } from './grpc-certificates.ts'
import { grpcDoor } from './grpc-door.ts'
import { httpDoor } from './http-door.ts'
import { type ObserverParts, Observers } from './observers.ts'
import type { OpenPeers } from './open-peers.ts'
import { openServiceStore, type StoreWatchers } from './open-store.ts'
import { ProcessCounts } from './process-counts.ts'
import { reporterOf } from './process-reports.ts'
import { makeServers } from './servers.ts'
import { ServingHealth } from './serving-health.ts'
import { untilReached } from './until-reached.ts'

/** What one process needs to answer requests. */
export interface Doors {
  readonly all: Readonly<Record<Exclude<DoorName, 'gateway'>, Door>> & { readonly gateway?: Door }
  readonly storeName: string
  /** Resolves when the store can be reached, or when waiting longer would not help: see untilReached. */
  readonly ready: Promise<void>
  readonly reports: Reporter
  /** Where this process counts, if that is in its memory, how it builds keys, and what forgets a counter that was reset. */
  readonly counters: {
    readonly memory: MemoryStore | undefined
    /** What decides: for counters that are neither in this process alone nor in Redis. */
    readonly store: Store
    readonly keys: KeyEncoder
    readonly forget: (key: string) => void
  }
  /** Replaces the gateway's routes. */
  setRoutes(plan: GatewayPlan): void
  /** Notifies health checks that other rules are in force: without any, they may have to fail. */
  rulesChanged(): void
  /** Passes the node's health on to health checks. */
  hear(node: NodeHealth): void
  /** Fails health checks from now on. */
  notServing(): void
  /** Answers the requests in flight, returns what the store lent, and ends. */
  close(): Promise<void>
}

/** What doors have in addition to rules and a store, where it is configured. */
export interface DoorParts extends ObserverParts {
  /** Counts invalid records of quotas. */
  readonly passedOver?: MetricsSource | undefined
  /** Creates the gateway of the process. None of its code is loaded where there is no gateway. */
  readonly gateway?: ((parts: GatewayLimits) => GatewayDoor) | undefined
  /** Pays for what rules with a meter admit, and answers sluice.v1.Ledger. Undefined: there is no database. */
  readonly ledger?: NodeLedgerPort | undefined
  /** Opens the store, where counters are kept by peers. */
  readonly peers?: StoreWatchers['peers']
}

/** Opens the store and creates the doors to it. Nothing listens yet. */
export function openDoors(config: Config, rules: () => RuleSet, log: Log, parts: DoorParts = {}): Doors {
  const { quotas } = parts
  const counts = new ProcessCounts(config, rules, log)
  const health = new ServingHealth(config, rules)
  const { open, reached } = openStoreOf(config, log, counts, health, parts.peers)
  const { keys } = open
  const callers = new ProcessView({ rules, quotas, entries: config.callerEntries, keys, store: open.store })
  forgetResets(open, callers)
  const observers = new Observers(config, { rules, keys, counts, callers }, parts)
  const shedder = shedderOf(config, keys, quotas)
  const { renewals, metrics: renewalMetrics } = openRenewals(log)
  const store = storeFor(config, open.store)
  // Where refusals are only reported, nothing is billed.
  const payer = config.shadowMode ? undefined : new RulePayer(parts.ledger, quotas, { events: ledgerLog(log) })
  const limiterOf = (door: ObservedDoor): Limiter<Store> =>
    new Limiter(rules, store, {
      keepsTurns: true,
      ...open.parts,
      ...limiterPartsOf(config),
      shadow: config.shadowMode,
      ...(quotas !== undefined && { quotas }),
      shedder,
      renewals,
      payer,
      observer: observers.of(door),
    })
  const { readsTraces } = observers
  const usage = quotas && callers
  const { ledger } = parts
  const shared = { limiterOf, rules, keys, health: health.health, log, readsTraces, usage, ledger }
  const servers = makeServers(config, shared)
  const peers = peersOf(open)
  peers?.register(servers.grpc)
  const certificates = followCertificates(config, servers.grpc, log)
  const gateway = parts.gateway?.({ limiter: limiterOf('gateway'), readsTraces, shedder })
  counts.metrics?.add(parts.passedOver, renewalMetrics, shedder && sheddingOf(shedder, config), gateway)
  return {
    all: {
      http: httpDoor(servers.http),
      grpc: withPeers(grpcDoor(servers.grpc, config), peers),
      ...(gateway && { gateway }),
    },
    storeName: open.name,
    ready: Promise.all([
      config.redisUrl === undefined ? undefined : untilReached(reached, open.ready),
      // A worker receives its connections from the primary.
      config.workers > 1 ? gateway?.open() : undefined,
    ]).then(() => {}),
    reports: reporterOf({ counts, callers, open, servers, gateway, health }),
    counters: { memory: open.memory, store: open.store, keys, forget: (key) => callers.nearLimits.forget(key) },
    setRoutes: (plan) => gateway?.setRoutes(plan),
    rulesChanged: () => health.judge(),
    hear: (node) => health.hear(node),
    notServing: () => health.drain(),
    async close() {
      health.drain()
      health.health.leave()
      // Others have the counters before this node's ports close.
      await peers?.leave()
      // A door that fails must not cut what the others still answer.
      const drains = await Promise.allSettled(Object.values(this.all).map((door) => door.drain(config.drainTimeoutMs)))
      await payer?.close()
      counts.close()
      shedder?.close()
      renewals.close()
      certificates?.stop()
      await Promise.all([open.close(), observers.close()])
      for (const drained of drains) if (drained.status === 'rejected') throw drained.reason
    },
  }
}

/** Opens the store. `reached` resolves when its servers were reached for the first time. */
function openStoreOf(
  config: Config,
  log: Log,
  counts: ProcessCounts,
  health: ServingHealth,
  peers: DoorParts['peers'],
) {
  let arrive = (): void => {}
  const reached = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const changed = (isReached: boolean): void => {
    if (isReached) arrive()
    health.storeReached(isReached)
  }
  const watchers = { metrics: counts.metrics?.store, watch: counts.watch, peers }
  return { open: openServiceStore(config, log, counts.store, changed, watchers), reached }
}

function peersOf(open: OpenStore | OpenPeers): OpenPeers | undefined {
  return 'register' in open ? open : undefined
}

/** Has a node meet its peers once they can reach it. */
function withPeers(door: Door, peers: OpenPeers | undefined): Door {
  if (peers === undefined) return door
  const listen: Door['listen'] = async (at) => {
    const address = await door.listen(at)
    await peers.start()
    return address
  }
  return { ...door, listen }
}

/** Creates what renews the permits of requests that run for long. */
function openRenewals(log: Log) {
  const metrics = new RenewalMetrics()
  const logged = renewalLog(log)
  const renewals = new Renewals({
    renewed: (renewal, count) => {
      metrics.renewed(renewal, count)
      logged.renewed(renewal, count)
    },
  })
  return { renewals, metrics }
}

/**
 * Creates what sheds load, where a layer is on or can be turned on while the process runs; a gateway's upstreams can.
 */
function shedderOf(
  { shedding, gateway }: Config,
  keys: KeyEncoder,
  quotas: DoorParts['quotas'],
): LoadShedder | undefined {
  const { worker, fleet } = shedding
  if (worker.mode === 'off' && fleet === undefined && quotas === undefined && gateway === undefined) return undefined
  // Where it cannot be turned on, nothing needs to measure how busy the worker is.
  const measured = worker.mode === 'off' && quotas === undefined ? undefined : worker
  return new LoadShedder({ worker: measured, fleet, keys, modes: quotas && ((layer) => quotas().layers?.(layer)) })
}

function sheddingOf(shedder: LoadShedder, { gateway }: Config): MetricsSource {
  return { report: (into) => reportShedding(into, shedder, gateway !== undefined) }
}

/** Makes a process forget counters that a node has reset. */
function forgetResets({ redis }: OpenStore, callers: ProcessView): void {
  redis?.().then(
    (opened) => opened.redis.listen({ noticed: (notice) => callers.noticed(notice), connected() {} }),
    () => {},
  )
}

/** Uses the certificate of the gRPC port as its files change. */
function followCertificates({ grpc: { tls } }: Config, grpc: GrpcServer, log: Log): CertificateWatch | undefined {
  const watch = tls && new CertificateWatch(tls, (options) => grpc.setTls(options), log)
  watch?.start()
  return watch
}
