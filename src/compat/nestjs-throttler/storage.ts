import type { ThrottlerStorage } from '@nestjs/throttler'
import { checkOptions } from '../../core/check-options.ts'
import { compileLimit } from '../../core/limit.ts'
import type { FormsOf } from '../../core/option-forms.ts'
import { hitRule } from '../../stores/hits/hit-rule.ts'
import {
  ThrottleCounter,
  type Throttled,
  type Throttling,
  throttlingOf,
  WALL_CLOCK,
} from '../../stores/hits/throttle-counter.ts'
import { MemoryStore } from '../../stores/memory/memory-store.ts'
import { openAppStore } from '../../stores/open/open-app-store.ts'
import type { OpenStore } from '../../stores/open/open-store.ts'
import { HIT_STORE_FORMS } from '../../stores/open/store-forms.ts'
import type { RedisOptions } from '../../stores/open/store-options.ts'
import type { RedisStore } from '../../stores/redis/redis-store.ts'

/** Where SluiceStorage counts, and what a hit gets while that does not answer. */
export interface StorageOptions extends RedisOptions {
  /** What keys in Redis begin with: apps with one prefix share their counters. Default: `throttler`. */
  readonly prefix?: string
  /**
   * What a hit gets while Redis does not answer. `local` (default): it is counted in this process. `open`: it passes.
   * `closed`: it is refused. `throw`: an error, which Nest answers with 500.
   */
  readonly onStoreFailure?: 'open' | 'closed' | 'local' | 'throw'
  /** How long Redis may take. Default: 50. */
  readonly timeoutMs?: number
}

/** How a hit stands, in whole seconds, as @nestjs/throttler wants to know it. */
export interface ThrottlerStorageRecord {
  totalHits: number
  timeToExpire: number
  isBlocked: boolean
  timeToBlockExpire: number
}

export const STORAGE_FORMS: FormsOf<StorageOptions> = HIT_STORE_FORMS

const CLOSED_SECONDS = 1
/** Only for encoding keys: the script defines what is counted, and how. */
const RULE = hitRule(compileLimit({ limit: 1, window: 1 }), { onStoreFailure: 'open', timeoutMs: 0 })

/**
 * A storage for @nestjs/throttler, in memory or in Redis. Each hit expires separately after its ttl, as in the default
 * storage; with limits above 10,000, all of them expire with the window.
 */
export class SluiceStorage implements ThrottlerStorage {
  readonly #open: OpenStore
  readonly #options: StorageOptions
  readonly #local: ThrottleCounter

  constructor(options: StorageOptions = {}) {
    checkOptions(options, STORAGE_FORMS)
    this.#options = options
    this.#open = openAppStore({ clock: WALL_CLOCK, ...options })
    this.#local = new ThrottleCounter(this.#open.memory ?? new MemoryStore({ clock: WALL_CLOCK }))
  }

  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerStorageRecord> {
    const throttling = throttlingOf(ttl, limit, blockDuration)
    const { connectedRedis: redis } = this.#open
    const local = (): Throttled => this.#local.count(`${throttlerName.length} ${throttlerName} ${key}`, throttling)
    if (redis === undefined) return recordOf(local())
    const { onStoreFailure = 'local' } = this.#options
    try {
      return recordOf(await this.#count((await redis()).redis, key, throttlerName, throttling))
    } catch (error) {
      if (onStoreFailure === 'throw') throw error
      return onStoreFailure === 'local' ? recordOf(local()) : withoutStore(throttling, onStoreFailure === 'closed')
    }
  }

  /** Closes the store; Nest calls it. */
  async onApplicationShutdown(): Promise<void> {
    await this.#open.close()
  }

  async #count(redis: RedisStore, key: string, name: string, throttling: Throttling): Promise<Throttled> {
    const { prefix = 'throttler', timeoutMs = 50 } = this.#options
    const { ttlMs, limit, blockMs, isLog } = throttling
    const encoded = this.#open.keys.encode(`${prefix}:${name}`, RULE, [{ key: 'key', value: key }])
    const args = ['', ttlMs, limit, blockMs, isLog ? 'log' : 'count']
    const [hits, windowLeftMs, isBlocked, blockLeftMs] = await redis.run('throttle', encoded, args, timeoutMs)
    return { hits, windowLeftMs, isBlocked: isBlocked === 1, blockLeftMs }
  }
}

function recordOf({ hits, windowLeftMs, isBlocked, blockLeftMs }: Throttled): ThrottlerStorageRecord {
  return {
    totalHits: hits,
    timeToExpire: Math.ceil(windowLeftMs / 1000),
    isBlocked,
    timeToBlockExpire: Math.ceil(blockLeftMs / 1000),
  }
}

function withoutStore({ limit, ttlMs }: Throttling, isBlocked: boolean): ThrottlerStorageRecord {
  const timeToExpire = Math.ceil(ttlMs / 1000)
  return isBlocked
    ? { totalHits: limit + 1, timeToExpire, isBlocked, timeToBlockExpire: CLOSED_SECONDS }
    : { totalHits: 1, timeToExpire, isBlocked, timeToBlockExpire: 0 }
}
