import type { Server } from 'node:http'
import type { KeySpeller } from 'sluice/internal/core/key-speller'
import { stepWithoutPattern } from 'sluice/internal/core/rules/match'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { Limiter } from 'sluice/internal/engine/limiter'
import type { Store } from 'sluice/internal/engine/ports'
import type { Quotas } from 'sluice/internal/engine/quotas'
import { Callers } from '../../edge/callers/callers.ts'
import { checkServer } from '../../edge/check/check-server.ts'
import { Health } from '../../edge/health/health.ts'
import { registerHealth } from '../../edge/health/health-door.ts'
import { LeaseTokens } from '../../edge/leases/lease-tokens.ts'
import { registerLimiter } from '../../edge/limiter/limiter-door.ts'
import { registerRls } from '../../edge/rls/rls-door.ts'
import type { RlsOptions } from '../../edge/rls/rls-options.ts'
import type { GrpcServer } from '../../grpc/index.ts'
import { type DoorObserver, type ObservedDoor, observerOf } from '../../observe/door-observer.ts'
import { RuleStats } from '../../observe/rule-stats.ts'
import { StoreStats } from '../../observe/store-stats.ts'
import { Unmatched } from '../../observe/unmatched.ts'
import { faultLog } from '../log/fault-log.ts'
import type { Log } from '../log/log.ts'
import { unmatchedLog } from '../log/unmatched-log.ts'
import { limiterPartsOf, storeFor } from '../settings/compatibility.ts'
import type { Config } from '../settings/config.ts'
import type { Door, DoorName } from './door.ts'
import { drainable } from './drain.ts'
import { CertificateWatch } from './grpc-certificates.ts'
import { grpcDoor, grpcServer } from './grpc-door.ts'
import { listen, portOf, reachable } from './listen.ts'
import { openServiceStore } from './open-store.ts'
import type { Reporter } from './reports.ts'

/** How long a connection may wait for its next request while its door drains. */
const IDLE_MS = 1_000
/** How long a process waits for Redis before it serves without. */
const MAX_WAIT_MS = 1_000

/** Doors are what one process needs to answer requests. */
export interface Doors {
  readonly all: Readonly<Record<DoorName, Door>>
  readonly storeName: string
  /** Resolves when the store can be reached, or when waiting for it would help nobody. */
  readonly ready: Promise<void>
  readonly reports: Reporter
  /** notServing has health checks say no from now on. */
  notServing(): void
  /** close answers what is under way, gives back what the store lent, and ends. */
  close(): Promise<void>
}

/** openDoors opens the store and makes the doors to it. Nothing listens yet. */
export function openDoors(config: Config, rules: () => RuleSet, log: Log, quotas?: () => Quotas): Doors {
  const health = new Health()
  let isLeaving = false
  let arrive = (): void => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const storeStats = new StoreStats()
  const ruleStats = new RuleStats({ asReference: config.compatibility !== undefined })
  const unmatched = new Unmatched(unmatchedLog(log))
  // Until it is known that Redis can be reached, it is not.
  if (config.healthNeedsRedis && config.redisUrl !== undefined) health.set(false)
  const open = openServiceStore(config, log, storeStats, (isReached) => {
    if (isReached) arrive()
    if (config.healthNeedsRedis && !isLeaving) health.set(isReached)
  })
  const store = storeFor(config, open.store)
  const tls = config.grpc.tls && new CertificateWatch(config.grpc.tls, (options) => grpc.setTls(options), log)
  const observers: readonly DoorObserver[] = [ruleStats, unmatched]
  const limiterOf = (door: ObservedDoor): Limiter<Store> =>
    new Limiter(rules, store, {
      ...open.parts,
      ...limiterPartsOf(config),
      shadow: config.shadowMode,
      ...(quotas !== undefined && { quotas }),
      observer: observerOf(door, observers),
    })
  const limiters = { rls: limiterOf('rls'), grpc: limiterOf('grpc'), http: limiterOf('http') }
  const { http, grpc, rls } = makeServers(config, limiters, {
    health,
    log,
    shownValue: secretsHidden(rules, open.keys),
  })
  tls?.start()
  return {
    all: { http: httpDoor(http), grpc: grpcDoor(grpc, config) },
    storeName: open.name,
    ready: config.redisUrl === undefined ? Promise.resolve() : within(arrived, MAX_WAIT_MS),
    reports: {
      stats: () =>
        Object.fromEntries([
          ...rls.calls.list(),
          ...ruleStats.list(),
          ...unmatched.list(),
          ...storeStats.list(),
          ...named('sluice.store', open.stats()),
          ...grpcStats(grpc),
        ]),
    },
    notServing: () => {
      isLeaving = true
      health.set(false)
    },
    async close() {
      this.notServing()
      health.leave()
      await Promise.all(Object.values(this.all).map((door) => door.drain(config.drainTimeoutMs)))
      unmatched.stop()
      tls?.stop()
      await open.close()
    },
  }
}

/** The services whose health can be asked for by name. */
const SERVICES = ['envoy.service.ratelimit.v3.RateLimitService', 'sluice.v1.Limiter']

/** secretsHidden spells values as they may be shown: those of keys that the rules in force mark as secret as a hash. */
function secretsHidden(rules: () => RuleSet, keys: KeySpeller): NonNullable<RlsOptions['shownValue']> {
  return (name, entry) => {
    const domain = rules().domains.get(name)
    const step = domain && stepWithoutPattern(domain, entry)
    return step?.secret ? keys.value(entry.value, step) : entry.value
  }
}

/** What the servers of a process share beside the limiter. */
interface Shared extends Required<Pick<RlsOptions, 'shownValue'>> {
  readonly health: Health
  readonly log: Log
}

/** makeServers joins the doors with what they share: the limiter, health, leases and counts. */
function makeServers(
  config: Config,
  limiters: Readonly<Record<ObservedDoor, Limiter<Store>>>,
  { health, log, shownValue }: Shared,
) {
  const { shadowMode, responseHeaders, requestHeaders, dynamicMetadata, unitMultipliers } = config
  const failed = faultLog(log)
  const callers = new Callers({ tokens: config.tokens, trustAll: config.trustCallers })
  const leases = new LeaseTokens(leaseSecretOf(config))
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
    failed,
  })
  registerLimiter(grpc, limiters.grpc, { leases, callers, shadowMode, failed })
  registerHealth(grpc, health, SERVICES)
  return { http: checkServer(limiters.http, { rls, leases, health, callers, shadowMode, failed }), grpc, rls }
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

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** within resolves when a promise does, or after a while. Until then it keeps the process alive: nothing else may. */
function within(promise: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void promise.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
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
