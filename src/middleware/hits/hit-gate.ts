import type { Decision, RuleVerdict } from '../../core/combine.ts'
import { got, SluiceError } from '../../core/errors.ts'
import { compileLimit, MAX_COUNT } from '../../core/limit.ts'
import { DEFAULTS } from '../../core/rules/compile-rule.ts'
import type { Rule } from '../../core/rules/rule-set.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { andThen } from '../maybe.ts'
import { CounterStore } from './counter-store.ts'
import type { HitStore, Hits } from './hit-store.ts'
import { nearestWindow } from './hit-window.ts'

/** A function that says something about a request, in the framework's own words: (request, response), or (context). */
export type Says<A extends readonly unknown[], T> = (...about: A) => MaybePromise<T>

/** HitGateOptions is how express-rate-limit and its kin see the world. A is what their functions are called with. */
export interface HitGateOptions<A extends readonly unknown[]> {
  readonly windowMs: number
  readonly limit: number | Says<A, number>
  readonly keyGenerator: Says<A, string>
  readonly skip: Says<A, boolean>
  readonly store: HitStore
}

/** A Hit is one request that was counted: what these libraries put on the request. */
export class Hit {
  readonly limit: number
  /** How many there were in this window, with this one. */
  readonly used: number
  readonly remaining: number
  readonly resetTime: Date | undefined
  readonly key: string

  constructor(key: string, { totalHits, resetTime }: Hits, limit: number) {
    this.limit = limit
    this.used = totalHits
    this.remaining = Math.max(limit - totalHits, 0)
    this.resetTime = resetTime
    this.key = key
  }

  /** The old name of `used`, which is not seen among the properties. */
  get current(): number {
    return this.used
  }
}

/**
 * HitGate counts requests in a HitStore. Unlike a Gate it throws and rejects: what a function or a store of the user's
 * does wrong is for the adapter to handle, as the library in question would.
 */
export class HitGate<A extends readonly unknown[]> {
  readonly #options: HitGateOptions<A>
  readonly #rules = new Map<string, Rule>()
  #lastRule: Rule | undefined

  constructor(options: HitGateOptions<A>) {
    checkStore(options.store)
    this.#options = options
  }

  /** key returns whose hit it is, or undefined for a request that is not counted. */
  key(...about: A): MaybePromise<string | undefined> {
    const { skip, keyGenerator } = this.#options
    return andThen(skip(...about), (isSkipped) => (isSkipped ? undefined : andThen(keyGenerator(...about), String)))
  }

  /** count counts a hit of a key. */
  count(key: string, ...about: A): MaybePromise<Hit> {
    const { store, limit } = this.#options
    return andThen(store.increment(key), (hits) =>
      andThen(typeof limit === 'function' ? limit(...about) : limit, (most) => {
        // A limit that is always the same, the store knows by itself.
        if (hits.totalHits > most && typeof limit === 'function' && store instanceof CounterStore) store.hold(key)
        return new Hit(key, hits, most)
      }),
    )
  }

  /** decisionOf spells a hit as a decision, for rendering. */
  decisionOf(hit: Hit, name: string, nowMs: number): Decision {
    const rule = this.#rule(name, hit.limit)
    const resetAfterMs =
      hit.resetTime === undefined ? this.#options.windowMs : Math.max(0, hit.resetTime.getTime() - nowMs)
    const { limit, remaining } = hit
    const verdict =
      hit.used > limit
        ? ({ kind: 'refused', allowed: false, limit, remaining, resetAfterMs, retryAfterMs: resetAfterMs } as const)
        : ({ kind: 'allowed', allowed: true, limit, remaining, resetAfterMs, delayMs: 0 } as const)
    const tightest: RuleVerdict = { rule, descriptor: 0, verdict }
    const retryAfterMs = verdict.allowed ? undefined : resetAfterMs
    return { allowed: verdict.allowed, retryAfterMs, delayMs: 0, tightest, verdicts: [tightest] }
  }

  #rule(name: string, limit: number): Rule {
    const last = this.#lastRule
    if (last !== undefined && last.name === name && last.limit.limit === limit) return last
    this.#lastRule = this.#ruleNamed(name, limit)
    return this.#lastRule
  }

  #ruleNamed(name: string, limit: number): Rule {
    const id = `${limit} ${name}`
    const known = this.#rules.get(id)
    if (known !== undefined) return known
    if (this.#rules.size >= MOST_RULES) this.#rules.clear()
    const amount = Math.min(Math.max(0, Math.floor(limit) || 0), MAX_COUNT)
    const window = nearestWindow(this.#options.windowMs)
    const compiled = compileLimit({ limit: amount, window, algorithm: 'fixed_window', anchor: 'first_hit' })
    const rule = Object.freeze({ ...DEFAULTS, id: name, name, limit: compiled, path: [] })
    this.#rules.set(id, rule)
    return rule
  }
}

const MOST_RULES = 1_000

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
