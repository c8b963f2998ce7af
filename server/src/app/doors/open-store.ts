import { type OpenStore, openStore, type StoreEvents } from 'sluice/internal/stores/open/open-store'
import type { Certificates } from 'sluice/internal/stores/redis/connection/address'
import type { ProcessWatch } from '../../observe/live/process-watch.ts'
import type { StoreMetrics } from '../../observe/metrics/store-metrics.ts'
import type { StoreStats } from '../../observe/store-stats.ts'
import type { Log } from '../log/log.ts'
import type { Config } from '../settings/config.ts'
import type { RedisTls } from '../settings/counter-settings.ts'
import { readRedisTls } from '../settings/pem-files.ts'
import { credentialsOf } from '../settings/redis-settings.ts'
import type { OpenPeers } from './open-peers.ts'

type StoreConfig = Pick<
  Config,
  'redisUrl' | 'redisTimeoutMs' | 'keyPrefix' | 'keys' | 'redisTls' | 'redisSentinelAuth' | 'secret'
>

/** Callbacks about the store's servers. */
export interface StoreWatchers {
  readonly metrics?: StoreMetrics | undefined
  readonly watch?: Pick<ProcessWatch, 'connected' | 'disconnected' | 'retired' | 'breakerChanged'>
  /** Opens the store where counters are kept by peers. None of its code is loaded where there are none. */
  readonly peers?: ((events: StoreEvents) => OpenPeers) | undefined
}

/**
 * Opens the configured store, logs and counts its events. `reached` is called with whether the servers of a shared
 * store can be reached, whenever that may have changed.
 */
export function openServiceStore(
  config: StoreConfig,
  log: Log,
  stats: StoreStats,
  reached: (isReached: boolean) => void = () => {},
  { metrics, watch, peers }: StoreWatchers = {},
): OpenStore | OpenPeers {
  const { redisUrl: redis, redisTimeoutMs: timeoutMs, keyPrefix, keys, redisTls, redisSentinelAuth, secret } = config
  /** The reasons that were logged, by server that is unavailable. */
  const away = new Map<string, Set<string>>()
  /** Servers of a cluster that were not connected to yet. */
  const pending = new Set<string>()
  const look = (): void => {
    if (away.size + pending.size === 0) reached(true)
  }
  const isDue = oncePer(FALLBACK_LOG_MS)
  const events: StoreEvents = {
    connecting: (shard) => void pending.add(shard),
    connected: (shard) => {
      away.delete(shard)
      pending.delete(shard)
      metrics?.connected(shard)
      watch?.connected(shard)
      log.info('store.connected', `connected to ${shard}`, { shard })
      look()
    },
    // Logged once, not at every attempt: an outage fills logs quickly enough. A reason that the server itself gives
    // is worth another line.
    disconnected: (shard, reason) => {
      pending.delete(shard)
      const logged = away.get(shard) ?? new Set()
      if (logged.size === 0 || (CODE.test(reason) && logged.size < MAX_REASONS && !logged.has(reason))) {
        log.error('store.lost', `no connection to ${shard}: ${reason}; trying until there is one`, { shard, reason })
      }
      if (logged.size < MAX_REASONS) logged.add(reason)
      away.set(shard, logged)
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
    deadlineChanged: (shard, ms) => {
      metrics?.deadlineChanged(shard, ms)
      log.debug('store.deadline', `decisions wait for ${shard} for ${ms.toFixed(1)} ms`, { shard, ms })
    },
    fellBack: (mode, reason, shard) => {
      stats.fellBack(mode, reason)
      metrics?.fellBack(mode, reason)
      // An outage may cause this for every request.
      if (!isDue(`${mode} ${reason} ${shard}`)) return
      log.warn('store.fallback', `decisions without ${shard} (${reason}), as on_store_failure says: ${mode}`, {
        shard,
        reason,
        mode,
      })
    },
  }
  if (peers !== undefined) return peers(events)
  return openStore({
    redis,
    timeoutMs,
    mostTimeoutMs: MOST_TIMEOUT_MS,
    keyPrefix,
    keys,
    secret,
    tls: certificatesOf(redisTls),
    sentinelCredentials: redisSentinelAuth === undefined ? undefined : credentialsOf(redisSentinelAuth),
    events,
  })
}

/**
 * Envoy gives up after 20 ms unless its timeout is set, and then admits everything: an answer of the failure policy
 * must come before that. So the deadline adapts less here than in apps.
 */
const MOST_TIMEOUT_MS = 15
const FALLBACK_LOG_MS = 10_000
/** How many reasons of one outage are logged at most. */
const MAX_REASONS = 4
/** What a server says begins with a code. */
const CODE = /^[A-Z]{4,} /

/** Returns a function that says whether something was not logged within the last `ms`. */
function oncePer(ms: number): (what: string) => boolean {
  const loggedAt = new Map<string, number>()
  return (what) => {
    const now = performance.now()
    if (now - (loggedAt.get(what) ?? Number.NEGATIVE_INFINITY) < ms) return false
    loggedAt.set(what, now)
    return true
  }
}

/** Reads what TLS to Redis needs. */
export function certificatesOf(tls: RedisTls): Certificates {
  return { ...readRedisTls(tls), ...(tls.anyHostName && { checkServerIdentity: () => undefined }) }
}
