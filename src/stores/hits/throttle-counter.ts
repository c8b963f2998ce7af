import type { Clock } from '../../core/clock.ts'
import { compileLimit, type Limit, MAX_COUNT } from '../../core/limit.ts'
import type { MemoryStore } from '../memory/memory-store.ts'

/** What a hit is counted by. */
export interface Throttling {
  /** How long a hit is remembered. */
  readonly ttlMs: number
  readonly limit: number
  /** How long who had too many is blocked; 0 for until the oldest hit is forgotten. */
  readonly blockMs: number
  /** Whether each hit is remembered, or only how many there were. */
  readonly isLog: boolean
}

/** How a hit was counted. */
export interface Throttled {
  readonly hits: number
  readonly windowLeftMs: number
  readonly isBlocked: boolean
  readonly blockLeftMs: number
}

/** Above this, remembering each hit costs more than it is worth. */
const MAX_LOGGED = 10_000
const MAX_MS = 10 * 365 * 86_400_000
const MAX_THROTTLINGS = 1_000

export const WALL_CLOCK: Clock = { nowMs: () => Date.now() }

/** Checks what a guard asks for. A ttl or limit that is no number stands for none. */
export function throttlingOf(ttl: number, limit: number, blockDuration: number): Throttling {
  const whole = (value: number, least: number, most: number): number =>
    value >= least ? Math.min(Math.ceil(value), most) : least
  const most = whole(limit, 0, MAX_COUNT - 1)
  return {
    ttlMs: whole(ttl, 1, MAX_MS),
    limit: most,
    blockMs: whole(blockDuration, 0, MAX_MS),
    isLog: most <= MAX_LOGGED,
  }
}

interface Limits {
  readonly window: Limit
  readonly hits: Limit
  readonly block: Limit
}

/** Counts in memory what lua/throttle.lua counts in Redis: three counters under one key. */
export class ThrottleCounter {
  readonly #memory: MemoryStore
  readonly #limits = new Map<string, Limits>()

  constructor(memory: MemoryStore) {
    this.#memory = memory
  }

  count(key: string, throttling: Throttling): Throttled {
    const memory = this.#memory
    const { window, hits, block } = this.#limitsOf(throttling)
    const { limit, blockMs } = throttling
    const windowLeftMs = memory.decideOne(`w ${key}`, window, 1).resetAfterMs
    if (blockMs > 0) {
      const { remaining, resetAfterMs } = memory.decideOne(`b ${key}`, block, 0)
      if (remaining < MAX_COUNT) return { hits: limit + 1, windowLeftMs, isBlocked: true, blockLeftMs: resetAfterMs }
    }
    const verdict = memory.decideOne(`h ${key}`, hits, 1)
    if (verdict.allowed) return { hits: limit - verdict.remaining, windowLeftMs, isBlocked: false, blockLeftMs: 0 }
    if (blockMs > 0) {
      // A blocked key starts again afterwards.
      memory.reset(`h ${key}`, hits)
      memory.decideOne(`b ${key}`, block, 1)
      return { hits: limit + 1, windowLeftMs, isBlocked: true, blockLeftMs: blockMs }
    }
    const blockLeftMs = verdict.kind === 'refused' ? verdict.retryAfterMs : windowLeftMs
    return { hits: limit + 1, windowLeftMs, isBlocked: true, blockLeftMs }
  }

  #limitsOf({ ttlMs, limit, blockMs, isLog }: Throttling): Limits {
    const id = `${ttlMs} ${limit} ${blockMs}`
    const known = this.#limits.get(id)
    if (known !== undefined) return known
    if (this.#limits.size >= MAX_THROTTLINGS) this.#limits.clear()
    const limits = {
      window: anchored(MAX_COUNT, ttlMs),
      hits: isLog ? compileLimit({ limit, window: ttlMs, algorithm: 'sliding_log' }) : anchored(limit, ttlMs),
      block: anchored(MAX_COUNT, Math.max(1, blockMs)),
    }
    this.#limits.set(id, limits)
    return limits
  }
}

function anchored(limit: number, window: number): Limit {
  return compileLimit({ limit, window, algorithm: 'fixed_window', anchor: 'first_hit' })
}
