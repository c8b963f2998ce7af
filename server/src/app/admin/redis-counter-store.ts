import { SluiceError, withoutCredentials } from 'sluice/internal/core/errors'
import { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { storedKey } from 'sluice/internal/core/keys'
import { PARTITIONS, sharedHash } from 'sluice/internal/engine/shared-hash'
import { StoreFault } from 'sluice/internal/engine/store-fault'
import type { RedisStore } from 'sluice/internal/stores/redis/redis-store'
import type { CounterStore } from '../../admin/counters/counter-store.ts'
import { certificatesOf } from '../doors/open-store.ts'
import type { Config } from '../settings/config.ts'
import { credentialsOf } from '../settings/redis-settings.ts'

type RedisConfig = Pick<Config, 'keyPrefix' | 'keys' | 'redisTls' | 'redisSentinelAuth' | 'secret'>

/** How long Redis may take. No limited request waits for it. */
const TIMEOUT_MS = 1_000

/** Asks Redis on a separate connection, which is made when it is first needed. */
export function redisCounterStore(url: string, config: RedisConfig): CounterStore {
  const { keyPrefix = '', keys, redisTls, redisSentinelAuth, secret = '' } = config
  const away = new Set<string>()
  let isReached = false
  let opening: Promise<RedisStore> | undefined
  let made: RedisStore | undefined
  const open = async (): Promise<RedisStore> => {
    const { RedisStore } = await import('sluice/internal/stores/redis/redis-store')
    let arrive = (): void => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const store = new RedisStore({
      url,
      keepAlive: false,
      timeoutMs: TIMEOUT_MS,
      keyPrefix,
      compactKeys: keys === 'compact' ? sharedHash(secret) : undefined,
      tls: certificatesOf(redisTls),
      sentinelCredentials: redisSentinelAuth === undefined ? undefined : credentialsOf(redisSentinelAuth),
      events: {
        connected: (shard) => {
          away.delete(shard)
          isReached = true
          arrive()
        },
        disconnected: (shard) => {
          away.add(shard)
          arrive()
        },
      },
    })
    made = store
    // Only when the first attempt to connect has ended is it known whether Redis is available.
    await arrived
    return store
  }
  const opened = (): Promise<RedisStore> => {
    opening ??= open()
    return opening
  }
  return {
    keys: new KeyEncoder(sharedHash(secret), PARTITIONS, keyPrefix),
    look: (key, limit) =>
      withApiErrors(async () => {
        const [verdict] = await (await opened()).decide([{ key, limit, cost: 0, enforce: true }])
        return verdict
      }),
    reset: (counters) =>
      withApiErrors(async () => {
        const stored = counters.map(({ key, limit }) => storedKey(key, limit))
        if (stored.length === 0) return 0
        return (await (await opened()).counters.reset(stored)).counters
      }),
    tellCallers: (caller) => void opened().then((store) => store.notify({ kind: 'reset_caller', key: caller })),
    state: () => (isReached && away.size === 0 ? 'up' : 'away'),
    redis: opened,
    close: async () => {
      // A first attempt that has not ended is not waited for.
      await made?.close()
    },
  }
}

/** Turns a fault of Redis into an error that the API can answer. */
async function withApiErrors<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error
    throw new SluiceError('REDIS_UNREACHABLE', error.shard, withoutCredentials(error.message))
  }
}
