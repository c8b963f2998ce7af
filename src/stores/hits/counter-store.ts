import { checkOptions } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import type { Verdict } from '../../core/decision.ts'
import { addErrorRules, SluiceError } from '../../core/errors.ts'
import { DOOR_RULES } from '../../core/library-error-rules.ts'
import { compileLimit, type Limit, MAX_COUNT, scaleLimit } from '../../core/limit.ts'
import { type FormsOf, oneOf } from '../../core/option-forms.ts'
import type { Rule } from '../../core/rules/rule-set.ts'
import { andThen } from '../../engine/maybe.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { openAppStore } from '../open/open-app-store.ts'
import type { OpenStore } from '../open/open-store.ts'
import { HIT_STORE_FORMS } from '../open/store-forms.ts'
import type { RedisOptions } from '../open/store-options.ts'
import { hitRule } from './hit-rule.ts'
import type { HitStore, Hits } from './hit-store.ts'
import { nearestWindow } from './hit-window.ts'

/** Where the hits of a store are counted, and how. */
export interface CounterStoreOptions extends RedisOptions {
  /**
   * What the keys of this store begin with: stores on one Redis with one prefix share their counters. Default: `rl:`.
   */
  readonly prefix?: string
  /**
   * `fixed_window` (default): a window that begins with the first hit, as in the stores of express-rate-limit.
   * `sliding_window`: hits fade out over the next window, so that no caller gets twice the limit around its end.
   */
  readonly algorithm?: 'fixed_window' | 'sliding_window'
  /**
   * What a hit gets while Redis does not answer. `local` (default): it is counted in this process. `open`: it is the
   * first one. `closed`: it is one too many. `throw`: an error, for `passOnStoreError` to decide about.
   */
  readonly onStoreFailure?: 'open' | 'closed' | 'local' | 'throw'
  /** How long Redis may take. Default: 50. */
  readonly timeoutMs?: number
}

const FORMS: FormsOf<CounterStoreOptions> = {
  ...HIT_STORE_FORMS,
  algorithm: oneOf('fixed_window', 'sliding_window'),
}

const DEFAULT_WINDOW_MS = 60_000
/** The wall clock: reset times are shown as dates, and tests that set the clock expect it to be this one. */
const WALL_CLOCK: Clock = { nowMs: () => Date.now() }

/**
 * Counts hits for express-rate-limit and similar libraries, in memory or in Redis. It counts up to 4,294,967,295 in a
 * window; whether that is too many is for others to say.
 */
export class CounterStore implements HitStore {
  readonly prefix: string
  readonly localKeys: boolean
  readonly #options: CounterStoreOptions
  #open: OpenStore
  #rule: Rule
  /** The same counter with room for one hit: any key that has one is refused. */
  #full: Limit
  /** Above this a key is being refused, as far as that is known here. */
  #most = Number.POSITIVE_INFINITY

  constructor(options: CounterStoreOptions = {}) {
    addErrorRules(DOOR_RULES)
    checkOptions(options, FORMS)
    this.#options = options
    this.prefix = options.prefix ?? 'rl:'
    this.localKeys = options.redis === undefined
    this.#rule = this.#ruleOf(DEFAULT_WINDOW_MS)
    this.#full = scaleLimit(this.#rule.limit, 0)
    this.#open = openAppStore({ clock: WALL_CLOCK, ...options })
  }

  init({ windowMs, limit }: { readonly windowMs: number; readonly limit?: unknown }): void {
    this.#rule = this.#ruleOf(windowMs)
    this.#full = scaleLimit(this.#rule.limit, 0)
    this.#most = typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY
  }

  increment(key: string): MaybePromise<Hits> {
    return this.add(key, 1)
  }

  /** Counts several hits in one call; below 0 takes them back, 0 looks. */
  add(key: string, hits: number): MaybePromise<Hits> {
    return andThen(this.#charge(key, hits), (verdict) => {
      const counted = this.#hitsOf(verdict)
      if (counted.totalHits > this.#most) this.hold(key)
      return counted
    })
  }

  /**
   * Marks a key as being refused. In memory it then stays until its window is over, however many other keys come: a
   * flood of new keys must not evict an attacker. Keys that are only counted may be evicted.
   */
  hold(key: string): void {
    this.#open.memory?.decideOne(key, this.#full, 1)
  }

  get(key: string): MaybePromise<Hits | undefined> {
    return andThen(this.add(key, 0), (hits) => (hits.totalHits === 0 ? undefined : hits))
  }

  decrement(key: string): MaybePromise<void> {
    return andThen(this.#charge(key, -1), () => undefined)
  }

  resetKey(key: string): MaybePromise<void> {
    return this.#open.store.reset(this.#encode(key), this.#rule.limit)
  }

  resetAll(): void {
    if (!this.localKeys)
      throw new SluiceError('RESET_ALL_NOT_APPLICABLE', 'resetAll', 'the counters of this store are in Redis')
    this.#open = openAppStore({ clock: WALL_CLOCK, ...this.#options })
  }

  shutdown(): MaybePromise<void> {
    return this.#open.close()
  }

  #charge(key: string, cost: number): MaybePromise<Verdict> {
    const { memory, store } = this.#open
    const { limit } = this.#rule
    if (memory !== undefined) return memory.decideOne(key, limit, cost)
    const charge = { key: this.#encode(key), limit, cost, enforce: true, policy: this.#rule }
    return andThen(store.decide([charge]), ([verdict]) => verdict)
  }

  /** Encodes a key for a shared store. A memory store is private and hashes its keys. */
  #encode(key: string): string {
    if (this.localKeys) return key
    return this.#open.keys.encode(this.prefix, this.#rule, [{ key: 'key', value: key }])
  }

  #hitsOf(verdict: Verdict): Hits {
    const { remaining, resetAfterMs, fallback } = verdict
    const { onStoreFailure } = this.#options
    if (fallback === 'open') {
      if (onStoreFailure === 'open') return { totalHits: 1, resetTime: undefined }
      throw new SluiceError('STORE_UNAVAILABLE', 'store', 'Redis did not answer in time')
    }
    const totalHits = fallback === 'closed' ? MAX_COUNT : MAX_COUNT - remaining
    return { totalHits, resetTime: new Date(Date.now() + resetAfterMs) }
  }

  #ruleOf(windowMs: number): Rule {
    const { algorithm = 'fixed_window', onStoreFailure = 'local', timeoutMs = 50 } = this.#options
    const anchor = algorithm === 'fixed_window' ? { anchor: 'first_hit' as const } : {}
    const limit = compileLimit({ limit: MAX_COUNT, window: nearestWindow(windowMs), algorithm, ...anchor })
    // What is to be thrown passes the failure policy as if nothing had been asked.
    return hitRule(limit, { onStoreFailure: onStoreFailure === 'throw' ? 'open' : onStoreFailure, timeoutMs })
  }
}
