import { checkOptions } from '../core/check-options.ts'
import type { Verdict } from '../core/decision.ts'
import type { Limit } from '../core/limit.ts'
import { COUNTING_FORMS, type PlainLimit, SHARED_FORMS } from '../core/limit-forms.ts'
import type { FormsOf } from '../core/option-forms.ts'
import type { Rule } from '../core/rules/rule-set.ts'
import { type Observed, observerOf } from '../engine/decision-event.ts'
import { LoneDecider } from '../engine/lone-decider.ts'
import type { Observer } from '../engine/observer.ts'
import { type MemoryStats, MemoryStore } from '../stores/memory/memory-store.ts'
import { OBSERVED_FORMS, STORE_FORMS } from '../stores/open/store-forms.ts'
import type { StoreOptions } from '../stores/open/store-options.ts'
import { checkCost, checkKey, checkPermits, checkRefund, checkSettled, type SettledCost } from './checks.ts'
import { limitRule, type SharedLimit } from './limit-rule.ts'
import { Permit } from './permit.ts'
import { sharedLimiter } from './shared-code.ts'
import type { SharedRateLimiter } from './shared-rate-limit.ts'

/** The options of a limit in memory. */
export interface RateLimitOptions extends PlainLimit, Pick<StoreOptions, 'maxKeys' | 'clock'>, Observed {
  readonly redis?: undefined
  readonly store?: undefined
}

/** The options of a limit that processes share: on Redis, or with `store` in another place. */
export interface SharedRateLimitOptions
  extends PlainLimit,
    SharedLimit,
    Pick<StoreOptions, 'secret' | 'keyPrefix' | 'keys' | 'redisTimeoutMs' | 'log'>,
    Pick<RateLimitOptions, 'observer' | 'onDecision'> {
  readonly redis?: StoreOptions['redis']
  readonly store?: StoreOptions['store']
}

/** The types for each place where counters live. */
interface RateLimiterBy {
  readonly memory: RateLimiter
  readonly redis: SharedRateLimiter
}

/** The options of a limit, in memory or shared. */
export interface AnyRateLimitOptions<
  Redis extends StoreOptions['redis'] = StoreOptions['redis'],
  Place extends StoreOptions['store'] = StoreOptions['store'],
> extends Omit<SharedRateLimitOptions, 'redis' | 'store'>,
    Omit<RateLimitOptions, 'redis' | 'store'> {
  readonly redis?: Redis
  readonly store?: Place
}

const FORMS: FormsOf<AnyRateLimitOptions> = {
  ...COUNTING_FORMS,
  ...STORE_FORMS,
  ...SHARED_FORMS,
  ...OBSERVED_FORMS,
}

/**
 * Makes a limiter for one limit. In memory it is synchronous:
 *
 *   const limiter = rateLimit({ limit: 100, window: '1m' })
 *   if (!limiter.check('user:42').allowed) return tooManyRequests()
 *
 * With `redis` or `store`, all processes share the budget, and every call returns a promise.
 */
export function rateLimit<
  Redis extends StoreOptions['redis'] = undefined,
  Place extends StoreOptions['store'] = undefined,
>(
  options: AnyRateLimitOptions<Redis, Place>,
): RateLimiterBy[Redis extends undefined ? (Place extends undefined ? 'memory' : 'redis') : 'redis']
export function rateLimit(options: AnyRateLimitOptions): RateLimiter | SharedRateLimiter {
  checkOptions(options, FORMS)
  const { redis, store, secret, keyPrefix, keys, redisTimeoutMs, maxKeys, log, clock, ...others } = options
  const { name, onStoreFailure, localShare, timeoutMs, observer: own, onDecision, ...limit } = others
  const observer = observerOf({ observer: own, onDecision })
  const rule = limitRule(limit, defined({ name, onStoreFailure, localShare, timeoutMs }))
  if (redis === undefined && store === undefined) {
    return new RateLimiter(rule, () => new MemoryStore(defined({ maxKeys, clock })), observer)
  }
  return sharedLimiter(
    rule,
    name !== undefined,
    { redis, store, secret, keyPrefix, keys, redisTimeoutMs, observer: own, ...defined({ log }) },
    observer,
  )
}

/** One limit with its counters in memory, as `rateLimit()` returns it. Every call is synchronous. */
export class RateLimiter {
  readonly limit: Limit
  readonly #rule: Rule
  readonly #open: () => MemoryStore
  readonly #observer: Observer | undefined
  #store: MemoryStore
  #decider: LoneDecider

  /** @internal */
  constructor(rule: Rule, open: () => MemoryStore, observer: Observer | undefined) {
    this.limit = rule.limit
    this.#rule = rule
    this.#open = open
    this.#observer = observer
    this.#store = open()
    this.#decider = new LoneDecider(rule, this.#store, observer)
  }

  /** Decides about one request of a caller, and charges it when it is allowed. It never waits. */
  check(key: string, cost = 1): Verdict {
    checkKey(key)
    checkCost(cost)
    return this.#decider.decide(key, cost)
  }

  /** Looks at a caller's budget without charging. */
  peek(key: string): Verdict {
    return this.check(key, 0)
  }

  /** Gives budget back, for instance when the work that was charged did not happen. */
  refund(key: string, cost = 1): Verdict {
    checkRefund(cost)
    return this.check(key, -cost)
  }

  /**
   * Corrects a charge that was an estimate: gives back the excess, or charges the rest, whether it fits or not. Debt is
   * at most one whole budget: `dropped` of the verdict says what was beyond it. Returns undefined where there is
   * nothing to do: the request was refused, or cost what was charged.
   *
   *   const verdict = limiter.check(key, 500)
   *   if (verdict.allowed) limiter.settle(key, verdict, { charged: 500, actual: await work() })
   */
  settle(key: string, verdict: Verdict, cost: SettledCost): Verdict | undefined {
    checkKey(key)
    checkSettled(cost)
    return this.#decider.settle(key, verdict, cost.charged, cost.actual)
  }

  /** Takes a permit of a `concurrency` limit. */
  acquire(key: string, cost = 1): Permit {
    checkKey(key)
    checkPermits(this.limit, cost)
    // A permit gives back where it was taken, also when everything was forgotten meanwhile.
    const decider = this.#decider
    const { verdict, permits } = decider.acquire(key, cost)
    if (permits === undefined) return new Permit(verdict, undefined)
    const permit = new Permit(verdict, () => decider.release(permits))
    decider.keep(permits, permit)
    return permit
  }

  /** Gives a caller the whole budget again. */
  reset(key: string): void {
    checkKey(key)
    this.#decider.reset(key)
  }

  /** Gives all callers the whole budget again, for instance between tests. */
  resetAll(): void {
    this.#store = this.#open()
    this.#decider = new LoneDecider(this.#rule, this.#store, this.#observer)
  }

  get stats(): MemoryStats {
    return this.#store.stats
  }
}

/** Leaves out what is undefined. */
function defined<T extends object>(options: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}
