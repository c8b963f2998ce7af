import { SluiceError } from 'sluice/internal/core/errors'
import { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { PARTITIONS, sharedHash } from 'sluice/internal/engine/shared-hash'
import { parseRedisUrl } from 'sluice/internal/stores/redis/connection/address'
import { CompactKeys, readableKeys, type StoredKeys } from 'sluice/internal/stores/redis/formats/stored-keys'
import type { RedisCounters } from 'sluice/internal/stores/redis/redis-counters'
import { RedisStore } from 'sluice/internal/stores/redis/redis-store'
import { certificatesOf } from '../doors/open-store.ts'
import { keyFormOf, keyPrefixOf, redisTlsOf } from '../settings/counter-settings.ts'
import type { Flags } from '../settings/flags.ts'
import { credentialsOf, redisUrlOf } from '../settings/redis-settings.ts'
import { SettingSources } from '../settings/setting-sources.ts'
import { lastOf } from '../settings/setting-values.ts'
import { SETTINGS, type SettingName } from '../settings/settings.ts'
import { CONNECT_MS, whileOffline } from './while-offline.ts'

const NAMES: readonly SettingName[] = [
  'redis',
  'redis-ca',
  'redis-cert',
  'redis-key',
  'key-prefix',
  'keys',
  'secret',
  'config',
]

/** The flags of commands that look at counters, with the meaning they have in `serve`. */
export const COUNTER_FLAGS = SETTINGS.filter(({ flag }) => NAMES.includes(flag))

/** The counters in Redis of a service with the same settings. */
export interface Counters {
  readonly store: RedisStore
  readonly counters: RedisCounters
  /** Retries an operation, which must be repeatable, until the servers that it needs are connected. */
  whenConnected<T>(act: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Builds keys as a service with the same settings does. */
export function keysOf(flags: Flags, env: NodeJS.ProcessEnv): KeyEncoder {
  const from = new SettingSources(flags, env)
  return new KeyEncoder(sharedHash(from.value('secret') ?? ''), PARTITIONS, keyPrefixOf(from) ?? '')
}

/** Names counters in Redis as a service with the same settings does: as on a single server if no --redis is given. */
export function namesOf(flags: Flags, env: NodeJS.ProcessEnv): StoredKeys {
  const from = new SettingSources(flags, env)
  const [keyPrefix, redis] = [keyPrefixOf(from) ?? '', from.given('redis')]
  const isCluster = redis !== undefined && parseRedisUrl(redisUrlOf(lastOf(redis), redis.where, env)).kind === 'cluster'
  const isCompact = keyFormOf(from) === 'compact'
  return isCompact
    ? new CompactKeys(sharedHash(from.value('secret') ?? ''), keyPrefix, isCluster)
    : readableKeys(keyPrefix)
}

/** Opens the counters that flags and variables name. */
export function openCounters(command: string, flags: Flags, env: NodeJS.ProcessEnv): Counters {
  const from = new SettingSources(flags, env)
  const given = from.given('redis')
  if (given === undefined) throw new SluiceError('ARGUMENT_MISSING', command, 'no --redis given')
  const url = redisUrlOf(lastOf(given), given.where, env)
  parseRedisUrl(url)
  const auth = env.REDIS_SENTINEL_AUTH || undefined
  let reason = 'no answer'
  const store = new RedisStore({
    url,
    keyPrefix: keyPrefixOf(from) ?? '',
    compactKeys: keyFormOf(from) === 'compact' ? sharedHash(from.value('secret') ?? '') : undefined,
    timeoutMs: CONNECT_MS,
    tls: certificatesOf(redisTlsOf(from, env)),
    sentinelCredentials: auth === undefined ? undefined : credentialsOf(auth),
    events: {
      disconnected: (_, why) => {
        reason = why
      },
    },
  })
  return {
    store,
    counters: store.counters,
    whenConnected: (act) => whileOffline(act, () => reason),
    close: () => store.close(),
  }
}
