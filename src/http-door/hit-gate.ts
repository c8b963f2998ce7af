import type { Decision } from '../core/combine.ts'
import { hitVerdict } from '../core/decision.ts'
import { addErrorRules, got, SluiceError } from '../core/errors.ts'
import { DOOR_RULES } from '../core/library-error-rules.ts'
import { type Observed, observerOf } from '../engine/decision-event.ts'
import { andThen } from '../engine/maybe.ts'
import type { MaybePromise } from '../engine/ports.ts'
import { CounterStore } from '../stores/hits/counter-store.ts'
import type { HitStore, Hits } from '../stores/hits/hit-store.ts'
import { HitDecisions } from './hit-decisions.ts'

/** A function about a request, called as its framework does: with (request, response), or with (context). */
export type About<A extends readonly unknown[], T> = (...about: A) => MaybePromise<T>

/** What express-rate-limit and libraries like it know of a limit. A is what their functions are called with. */
export interface HitGateOptions<A extends readonly unknown[]> extends Observed {
  readonly windowMs: number
  readonly limit: number | About<A, number>
  readonly keyGenerator: About<A, string>
  readonly skip: About<A, boolean>
  readonly store: HitStore
}

/** One request that was counted: what these libraries put on the request. */
export class Hit {
  readonly limit: number
  /** How many there were in this window, with this one. */
  readonly used: number
  readonly remaining: number
  readonly resetTime: Date | undefined
  readonly key: string
  readonly #startedAt: number

  constructor(key: string, { totalHits, resetTime }: Hits, limit: number, startedAt: number) {
    this.#startedAt = startedAt
    this.limit = limit
    this.used = totalHits
    this.remaining = Math.max(limit - totalHits, 0)
    this.resetTime = resetTime
    this.key = key
  }

  /** When counting it began, as HitDecisions says. It is not seen among the properties either. */
  get startedAt(): number {
    return this.#startedAt
  }

  /** The old name of `used`, which is not seen among the properties. */
  get current(): number {
    return this.used
  }
}

/**
 * Counts requests in a HitStore. Unlike a Gate it throws and rejects: what a function or a store of the user's does
 * wrong is for the adapter to handle, as the original library would.
 */
export class HitGate<A extends readonly unknown[]> {
  readonly #options: HitGateOptions<A>
  readonly #decisions: HitDecisions

  constructor(options: HitGateOptions<A>) {
    addErrorRules(DOOR_RULES)
    checkStore(options.store)
    this.#options = options
    this.#decisions = new HitDecisions(observerOf(options))
  }

  /** Returns whose hit it is, or undefined for a request that is not counted. */
  key(...about: A): MaybePromise<string | undefined> {
    const { skip, keyGenerator } = this.#options
    return andThen(skip(...about), (isSkipped) => (isSkipped ? undefined : andThen(keyGenerator(...about), String)))
  }

  /** Counts a hit of a key. */
  count(key: string, ...about: A): MaybePromise<Hit> {
    const { store, limit } = this.#options
    const startedAt = this.#decisions.now()
    return andThen(store.increment(key), (hits) =>
      andThen(typeof limit === 'function' ? limit(...about) : limit, (given) => {
        const most = numberOr(given, DEFAULT_LIMIT)
        // A fixed limit is known to the store.
        if (hits.totalHits > most && typeof limit === 'function' && store instanceof CounterStore) store.hold(key)
        return new Hit(key, hits, most, startedAt)
      }),
    )
  }

  /** Whether there is an observer: without one, callers can skip making a decision. */
  get isObserved(): boolean {
    return this.#decisions.isObserved
  }

  /** Concludes what a hit comes to. `name` is what its limit is called in answers. */
  decisionOf(hit: Hit, name: string, nowMs: number): Decision {
    const { windowMs } = this.#options
    const { limit, resetTime } = hit
    const resetAfterMs = resetTime === undefined ? windowMs : Math.max(0, resetTime.getTime() - nowMs)
    return this.#decisions.of(
      hit.key,
      { name, limit, windowMs },
      hitVerdict(limit, hit.used, resetAfterMs),
      hit.startedAt,
    )
  }
}

/** What these libraries allow where nothing is said. */
const DEFAULT_LIMIT = 5

/**
 * Converts the result of an app's function to a number, as a comparison would: anything that is not a number would
 * admit every request.
 */
export function numberOr(given: unknown, otherwise: number): number {
  const number = typeof given === 'object' && given !== null ? Number.NaN : Number(given)
  return Number.isNaN(number) ? otherwise : number
}

function checkStore(store: HitStore): void {
  const isFunction = (value: unknown): boolean => typeof value === 'function'
  const isStore =
    isFunction(store?.increment) &&
    isFunction(store.decrement) &&
    isFunction(store.resetKey) &&
    (store.resetAll === undefined || isFunction(store.resetAll)) &&
    (store.init === undefined || isFunction(store.init))
  if (!isStore) throw new SluiceError('HIT_STORE_INVALID', 'store', got(store))
}
