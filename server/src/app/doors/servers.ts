import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { stepWithoutPattern } from 'sluice/internal/core/rules/match'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { Limiter } from 'sluice/internal/engine/limiter'
import type { Store } from 'sluice/internal/engine/ports'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { Throttle } from '../../admin/access/throttle.ts'
import { type LedgerDoorPort, registerLedger } from '../../admin/ledger/grpc/ledger-door.ts'
import type { OwnUsage } from '../../admin/limits/own-usage.ts'
import { ownUsageRoute } from '../../admin/limits/own-usage.ts'
import { Callers } from '../../edge/callers/callers.ts'
import { checkServer } from '../../edge/check/check-server.ts'
import type { Health } from '../../edge/health/health.ts'
import { registerHealth } from '../../edge/health/health-door.ts'
import { LeaseTokens } from '../../edge/leases/lease-tokens.ts'
import { ReservationTokens } from '../../edge/leases/reservation-tokens.ts'
import { registerLimiter } from '../../edge/limiter/limiter-door.ts'
import { registerRls } from '../../edge/rls/rls-door.ts'
import type { RlsOptions } from '../../edge/rls/rls-options.ts'
import type { ObservedDoor } from '../../observe/door-observer.ts'
import { faultLog } from '../log/fault-log.ts'
import type { Log } from '../log/log.ts'
import type { Config } from '../settings/config.ts'
import { grpcServer } from './grpc-door.ts'

/** The services whose health can be asked for by name. */
const SERVICES = ['envoy.service.ratelimit.v3.RateLimitService', 'sluice.v1.Limiter', 'sluice.v1.Ledger']

/** How many addresses and keys of customers that read their usage are throttled at the same time. */
const THROTTLED_KEYS = 10_000

/** What the servers of a process share. */
interface Shared {
  /** Returns the limiter of a door. */
  readonly limiterOf: (door: ObservedDoor) => Limiter<Store>
  readonly rules: () => RuleSet
  readonly keys: KeyEncoder
  readonly health: Health
  readonly log: Log
  /** Whether requests are traced. */
  readonly readsTraces: boolean
  /** What owners of API keys may read; undefined without quotas. */
  readonly usage: OwnUsage | undefined
  /** Undefined: there is no database. */
  readonly ledger: LedgerDoorPort | undefined
}

/** Creates the servers of a process. Nothing listens yet. */
export function makeServers(
  config: Config,
  { limiterOf, rules, keys, health, log, readsTraces, usage, ledger }: Shared,
) {
  const { shadowMode, responseHeaders, requestHeaders, dynamicMetadata, unitMultipliers } = config
  const callers = new Callers({ tokens: config.tokens, trustAll: config.trustCallers })
  const leases = new LeaseTokens(leaseSecretOf(config))
  const common = { shadowMode, callers, readsTraces, failed: faultLog(log) }
  const grpc = grpcServer(config.grpc, common.failed)
  const rls = registerRls(grpc, limiterOf('rls'), {
    ...common,
    responseHeaders,
    requestHeaders,
    dynamicMetadata,
    unitMultipliers,
    shownValue: hideSecrets(rules, keys),
    asReference: config.compatibility !== undefined,
  })
  registerLimiter(grpc, limiterOf('grpc'), { ...common, leases })
  registerLedger(grpc, ledger, common.failed)
  registerHealth(grpc, health, SERVICES)
  const http = checkServer(limiterOf('http'), {
    ...common,
    rls,
    leases,
    reservations: new ReservationTokens(leaseSecretOf(config)),
    health,
    ownUsage: config.customerUsage ? ownUsageRoute({ usage, throttle: usageThrottle() }) : undefined,
  })
  return { http, grpc, rls }
}

export type Servers = ReturnType<typeof makeServers>

function usageThrottle(): Throttle {
  return new Throttle(new MemoryStore({ maxKeys: THROTTLED_KEYS }))
}

/**
 * Returns the secret of lease tokens. A process that counts in memory numbers its leases from 1: under the same secret,
 * a token of the previous process would release a permit that another caller holds.
 */
function leaseSecretOf({ redisUrl, peers, secret, leaseSecret }: Config): string {
  return redisUrl === undefined && peers === undefined ? leaseSecret : (secret ?? leaseSecret)
}

/** Returns what shows values of entries: as a hash where the rules in force mark the key as secret. */
function hideSecrets(rules: () => RuleSet, keys: KeyEncoder): NonNullable<RlsOptions['shownValue']> {
  return (name, entry) => {
    const { domains } = rules()
    // In a domain without rules, a key is secret if any other domain says so.
    const domain = domains.get(name) ?? [...domains.values()].find(({ secretKeys }) => secretKeys.has(entry.key))
    const step = domain && stepWithoutPattern(domain, entry)
    return step?.secret ? keys.value(entry.value, step) : entry.value
  }
}
