import { type OpenStore, openStore } from 'sluice/internal/stores/open/open-store'
import type { Certificates } from 'sluice/internal/stores/redis/connection/address'
import type { ProcessWatch } from '../../observe/live/process-watch.ts'
import type { StoreMetrics } from '../../observe/metrics/store-metrics.ts'
import type { StoreStats } from '../../observe/store-stats.ts'
import type { Log } from '../log/log.ts'
import type { Config } from '../settings/config.ts'
import type { RedisTls } from '../settings/counter-settings.ts'
import { readRedisTls } from '../settings/pem-files.ts'
import { credentialsOf } from '../settings/redis-settings.ts'

type StoreConfig = Pick<
  Config,
  'redisUrl' | 'redisTimeoutMs' | 'keyPrefix' | 'keys' | 'redisTls' | 'redisSentinelAuth' | 'secret'
>

/** Who else hears what becomes of the store's servers. */
export interface StoreWatchers {
  readonly metrics?: StoreMetrics | undefined
  readonly watch?: Pick<ProcessWatch, 'connected' | 'disconnected' | 'retired' | 'breakerChanged'>
}

/**
 * Opens the store that the configuration names, logs what it tells and counts it. `reached` is told whether the servers
 * of a shared store can be reached, whenever that may have changed.
 */
export function openServiceStore(
  config: StoreConfig,
  log: Log,
  stats: StoreStats,
  reached: (isReached: boolean) => void = () => {},
  { metrics, watch }: StoreWatchers = {},
): OpenStore {
  const { redisUrl: redis, redisTimeoutMs: timeoutMs, keyPrefix, keys, redisTls, redisSentinelAuth, secret } = config
  /** By server that is away: the reasons that were told. */
  const away = new Map<string, Set<string>>()
  /** Servers of a cluster that were not connected to yet. */
  const pending = new Set<string>()
  const look = (): void => {
    if (away.size + pending.size === 0) reached(true)
  }
  const isDue = oncePer(FALLBACK_LOG_MS)
  return openStore({
    redis,
    timeoutMs,
    keyPrefix,
    keys,
    secret,
    tls: certificatesOf(redisTls),
    sentinelCredentials: redisSentinelAuth === undefined ? undefined : credentialsOf(redisSentinelAuth),
    events: {
      connecting: (shard) => void pending.add(shard),
      connected: (shard) => {
        away.delete(shard)
        pending.delete(shard)
        metrics?.connected(shard)
        watch?.connected(shard)
        log.info('store.connected', `connected to ${shard}`, { shard })
        look()
      },
      // Told once, not at every attempt: an outage fills logs quickly enough. What the server itself says is worth a line more.
      disconnected: (shard, reason) => {
        pending.delete(shard)
        const told = away.get(shard) ?? new Set()
        if (told.size === 0 || (CODE.test(reason) && told.size < MAX_REASONS && !told.has(reason))) {
          log.error('store.lost', `no connection to ${shard}: ${reason}; trying until there is one`, { shard, reason })
        }
        if (told.size < MAX_REASONS) told.add(reason)
        away.set(shard, told)
        metrics?.disconnected(shard)
        watch?.disconnected(shard)
        reached(false)
      },
      retired: (shard) => {
        away.delete(shard)
        pending.delete(shard)
        metrics?.connected(shard)
        watch?.retired(shard)
        look()
      },
      warned: (warning) => log.warn('store.warning', warning),
      breakerChanged: (shard, state) => {
        metrics?.breakerChanged(shard, state)
        watch?.breakerChanged(shard, state)
        const text = `circuit breaker of ${shard} is ${state.replace('_', ' ')}`
        log.write({
          level: state === 'open' ? 'error' : 'info',
          event: 'breaker.changed',
          message: text,
          fields: { shard, state },
        })
      },
      callEnded: (shard, durationMs, decisions, fault) => {
        stats.callEnded(durationMs, decisions, fault)
        metrics?.callEnded(shard, durationMs, decisions, fault)
      },
      fellBack: (mode, reason, shard) => {
        stats.fellBack(mode, reason)
        metrics?.fellBack(mode, reason)
        // An outage may mean this for every request.
        if (!isDue(`${mode} ${reason} ${shard}`)) return
        log.warn('store.fallback', `decisions without ${shard} (${reason}), as on_store_failure says: ${mode}`, {
          shard,
          reason,
          mode,
        })
      },
    },
  })
}

const FALLBACK_LOG_MS = 10_000
/** How many reasons of one outage are told at the most. */
const MAX_REASONS = 4
/** What a server says begins with a code. */
const CODE = /^[A-Z]{4,} /

/** Returns whether something was not told within the time that is given. */
function oncePer(ms: number): (what: string) => boolean {
  const toldAt = new Map<string, number>()
  return (what) => {
    const now = performance.now()
    if (now - (toldAt.get(what) ?? Number.NEGATIVE_INFINITY) < ms) return false
    toldAt.set(what, now)
    return true
  }
}

/** Reads what TLS to Redis needs. */
export function certificatesOf(tls: RedisTls): Certificates {
  return { ...readRedisTls(tls), ...(tls.anyHostName && { checkServerIdentity: () => undefined }) }
}
