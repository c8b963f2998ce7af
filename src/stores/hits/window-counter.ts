import type { Clock } from '../../core/clock.ts'
import type { Verdict } from '../../core/decision.ts'
import { compileLimit, type Limit, MAX_COUNT, scaleLimit } from '../../core/limit.ts'
import type { Rule } from '../../core/rules/rule-set.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import type { MemoryStore } from '../memory/memory-store.ts'
import { openAppStore } from '../open/open-app-store.ts'
import type { OpenRedis } from '../open/open-redis.ts'
import type { OpenStore } from '../open/open-store.ts'
import type { RedisOptions } from '../open/store-options.ts'
import { hitRule } from './hit-rule.ts'
import { nearestWindow } from './hit-window.ts'

/** What a hit beyond the limit does to its window: nothing, restart it, or double it. */
export type Beyond = 'keep' | 'restart' | 'double'

export interface WindowCounterOptions extends RedisOptions {
  /** What the keys begin with; in Redis, counters of one prefix are shared. */
  readonly prefix: string
  readonly beyond: Beyond
  /** `throw` (default): a fault of Redis is an error. `local`: hits are counted in this process meanwhile. */
  readonly onStoreFailure?: 'throw' | 'local'
}

/** How many hits a window has, and when it ends. */
export interface WindowCount {
  readonly current: number
  readonly ttl: number
}

const MAX_RULES = 1_000
/** Callers that ask Redis for a hit need the answer, which may take longer than a decision. */
const TIMEOUT_MS = 1_000
const WALL_CLOCK: Clock = { nowMs: () => Date.now() }

/**
 * Counts hits in windows that begin with the first one, as @fastify/rate-limit does. The window and the limit come with
 * each hit, and may differ from one to the next.
 */
export class WindowCounter {
  readonly #options: WindowCounterOptions
  readonly #open: OpenStore
  readonly #memory: MemoryStore | undefined
  /** Counts while Redis is unavailable. */
  #away: WindowCounter | undefined
  readonly #rules = new Map<number, Rule>()
  #latest: Rule

  constructor(options: WindowCounterOptions) {
    this.#options = options
    this.#open = openAppStore({ clock: WALL_CLOCK, ...options })
    this.#memory = this.#open.memory
    this.#latest = ruleOf(60_000)
  }

  /** Counts a hit. */
  count(key: string, windowMs: number, most: number): MaybePromise<WindowCount> {
    const memory = this.#memory
    if (memory === undefined) return this.#countShared(key, windowMs, most, 1)
    const { limit } = this.#rule(windowMs)
    const counted = countOf(memory.decideOne(key, limit, 1))
    if (counted.current <= most) return counted
    this.#hold(memory, key, limit, counted.current)
    const { beyond } = this.#options
    if (beyond === 'keep') return counted
    return { ...counted, ttl: beyond === 'double' ? doubled(windowMs, counted.current - most) : windowMs }
  }

  /** Looks without counting. */
  read(key: string, windowMs: number, most: number): MaybePromise<WindowCount> {
    if (this.#memory === undefined) return this.#countShared(key, windowMs, most, 0)
    return countOf(this.#memory.decideOne(key, this.#rule(windowMs).limit, 0))
  }

  close(): MaybePromise<void> {
    return this.#open.close()
  }

  /**
   * Keeps a key that is being refused until its window is over, however many others come: an attacker must not be
   * forgotten for a flood of new keys. It is refused by a limit of 1 on the same counter, which charges nothing.
   */
  #hold(memory: MemoryStore, key: string, limit: Limit, current: number): void {
    if (this.#options.beyond !== 'keep') {
      memory.reset(key, limit)
      memory.decideOne(key, limit, current)
    }
    memory.decideOne(key, scaleLimit(limit, 0), 1)
  }

  async #countShared(key: string, windowMs: number, most: number, hits: 0 | 1): Promise<WindowCount> {
    const { beyond, prefix, onStoreFailure } = this.#options
    const rule = this.#rule(windowMs)
    const encoded = this.#open.keys.encode(prefix, rule, [{ key: 'key', value: key }])
    if (beyond !== 'keep') {
      try {
        const args = [rule.limit.windowMs, most, beyond, hits]
        const { redis } = await (this.#open.connectedRedis as () => Promise<OpenRedis>)()
        const [current, ttl] = await redis.run('count', encoded, args, TIMEOUT_MS)
        return { current, ttl }
      } catch (error) {
        if (onStoreFailure !== 'local') throw error
        this.#away ??= new WindowCounter({ prefix, beyond })
        return hits === 1 ? this.#away.count(key, windowMs, most) : this.#away.read(key, windowMs, most)
      }
    }
    const store =
      onStoreFailure === 'local' ? this.#open.store : ((await this.#open.connectedRedis?.())?.redis ?? this.#open.store)
    const [verdict] = await store.decide([{ key: encoded, limit: rule.limit, cost: hits, enforce: true, policy: rule }])
    return countOf(verdict)
  }

  #rule(windowMs: number): Rule {
    const window = nearestWindow(windowMs)
    if (this.#latest.limit.windowMs === window) return this.#latest
    const rule = this.#rules.get(window) ?? ruleOf(window)
    if (this.#rules.size >= MAX_RULES) this.#rules.clear()
    this.#rules.set(window, rule)
    this.#latest = rule
    return rule
  }
}

function countOf({ remaining, resetAfterMs }: Verdict): WindowCount {
  return { current: MAX_COUNT - remaining, ttl: resetAfterMs }
}

function doubled(windowMs: number, times: number): number {
  return Math.min(windowMs * 2 ** (times - 1), Number.MAX_SAFE_INTEGER)
}

function ruleOf(window: number): Rule {
  const limit = compileLimit({ limit: MAX_COUNT, window, algorithm: 'fixed_window', anchor: 'first_hit' })
  return hitRule(anyWindow(limit), { onStoreFailure: 'local', timeoutMs: TIMEOUT_MS })
}

/** Makes a limit whose counters are the same whatever the window is. */
function anyWindow(limit: Limit): Limit {
  return Object.freeze({ ...limit, shape: 'a', space: SPACE })
}

const SPACE = 0x61
