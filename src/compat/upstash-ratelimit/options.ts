import type { StoreOptions } from '../../stores/open/store-options.ts'
import type { Algorithm } from './algorithms.ts'

/** The options of a Ratelimit: those of @upstash/ratelimit, where counters live, and what happens without them. */
export interface RatelimitConfig extends Pick<StoreOptions, 'redis' | 'secret' | 'log' | 'maxKeys' | 'clock'> {
  readonly limiter: Algorithm
  /** What keys begin with: limiters on one Redis with one prefix and one window share them. Default: `@upstash/ratelimit`. */
  readonly prefix?: string
  /** How long Redis may take, in milliseconds. Default: learned from its answers, 5 to 100. */
  readonly timeout?: number
  /**
   * What a call gets while Redis does not answer. `local` (default): it is counted in this process. `open`: it passes with
   * the reason `timeout`, as in @upstash/ratelimit. `closed`: it is refused.
   */
  readonly onStoreFailure?: 'local' | 'open' | 'closed'
  /** Has no effect: refusals are always remembered in the process, exactly as long as they hold. */
  readonly ephemeralCache?: ReadonlyMap<string, number> | false
  /** Has no effect but a warning when true: see the observers of Sluice. */
  readonly analytics?: boolean
}

/** What a call may say in addition to whom it is about. */
export interface LimitOptions {
  /** How much it takes; below 0 gives back. Default: 1. */
  readonly rate?: number
}

/** What `limit` and `blockUntilReady` answer. */
export interface RatelimitResponse {
  /** Whether the request may pass. */
  success: boolean
  /** How many are allowed in a window; of a bucket, how many it holds. */
  limit: number
  /** How many are left. */
  remaining: number
  /** When the window ends; of a bucket when it is full, or has what was refused: milliseconds since 1970. */
  reset: number
  /** Is settled: nothing goes on in the background. */
  pending: Promise<unknown>
  /** `timeout`: Redis did not answer, and the request passes or is refused without a count. */
  reason?: 'timeout'
}

/** What `getRemaining` answers. */
export interface Remaining {
  remaining: number
  reset: number
  limit: number
}
