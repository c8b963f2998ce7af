import { checkOptions } from '../core/check-options.ts'
import type { Decision } from '../core/combine.ts'
import { SluiceError } from '../core/errors.ts'
import type { FormsOf } from '../core/option-forms.ts'
import type { CheckRequest } from '../core/request.ts'
import { compileObjects } from '../core/rules/compile.ts'
import type { RuleSet } from '../core/rules/rule-set.ts'
import type { RuleFile } from '../core/rules/schema.ts'
import { type Observed, observerOf } from '../engine/decision-event.ts'
import { Limiter, type LimiterParts } from '../engine/limiter.ts'
import { NO_PAYER } from '../engine/payer.ts'
import type { Store } from '../engine/ports.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { openAppStore } from '../stores/open/open-app-store.ts'
import type { OpenStore } from '../stores/open/open-store.ts'
import { OBSERVED_FORMS, STORE_FORMS } from '../stores/open/store-forms.ts'
import type { StoreOptions } from '../stores/open/store-options.ts'
import { checkActual, checkRequest } from './checks.ts'
import { Permit, SharedPermit } from './permit.ts'

/** The options of a limiter in memory. */
export interface LimiterOptions extends Pick<StoreOptions, 'maxKeys' | 'clock'>, Observed {
  /** The rules, in the shape of a rule file: one domain, or several. */
  readonly rules: RuleFile | readonly RuleFile[]
  readonly redis?: undefined
  readonly store?: undefined
}

/** The options of a limiter that processes share: on Redis, or with `store` in another place. */
export interface SharedLimiterOptions
  extends Pick<LimiterOptions, 'rules' | 'observer' | 'onDecision'>,
    Pick<StoreOptions, 'secret' | 'keyPrefix' | 'keys' | 'redisTimeoutMs' | 'log'> {
  readonly redis?: StoreOptions['redis']
  readonly store?: StoreOptions['store']
}

/** The types for each place where counters live. */
interface RuleLimiterBy {
  readonly memory: RuleLimiter
  readonly redis: SharedRuleLimiter
}

/** The options of a limiter, in memory or shared. */
export interface AnyLimiterOptions<
  Redis extends StoreOptions['redis'] = StoreOptions['redis'],
  Place extends StoreOptions['store'] = StoreOptions['store'],
> extends Omit<SharedLimiterOptions, 'redis' | 'store'>,
    Omit<LimiterOptions, 'redis' | 'store'> {
  readonly redis?: Redis
  readonly store?: Place
}

const FORMS: FormsOf<AnyLimiterOptions> = {
  ...STORE_FORMS,
  rules: { expected: 'an object, or a list of them', is: (value) => typeof value === 'object' && value !== null },
  ...OBSERVED_FORMS,
}

/**
 * Makes a limiter on rules: domains, descriptors, several rules on one request. In memory it answers synchronously;
 * with `redis` or `store`, all processes share the budgets, and every call returns a promise.
 */
export function createLimiter<
  Redis extends StoreOptions['redis'] = undefined,
  Place extends StoreOptions['store'] = undefined,
>(
  options: AnyLimiterOptions<Redis, Place>,
): RuleLimiterBy[Redis extends undefined ? (Place extends undefined ? 'memory' : 'redis') : 'redis']
export function createLimiter(options: AnyLimiterOptions): RuleLimiter | SharedRuleLimiter {
  checkOptions(options, FORMS)
  const { rules, redis, store, secret, keyPrefix, keys, redisTimeoutMs, maxKeys, log, clock } = options
  const ruleSet = compileObjects(isList(rules) ? rules : [rules])
  const observer = observerOf(options)
  const parts = { payer: NO_PAYER, ...(observer !== undefined && { observer }) }
  if (redis === undefined && store === undefined) {
    const open = () => new MemoryStore({ ...(maxKeys !== undefined && { maxKeys }), ...(clock && { clock }) })
    return new RuleLimiter(ruleSet, open, parts)
  }
  return new SharedRuleLimiter(
    ruleSet,
    openAppStore({
      redis,
      store,
      secret,
      keyPrefix,
      keys,
      redisTimeoutMs,
      observer: options.observer,
      ...(log && { log }),
    }),
    parts,
  )
}

/** A set of rules with their counters in memory, as `createLimiter()` returns it. Every call is synchronous. */
export class RuleLimiter {
  readonly #open: () => Limiter<MemoryStore>
  #limiter: Limiter<MemoryStore>

  /** @internal */
  constructor(rules: RuleSet, open: () => MemoryStore, parts: LimiterParts) {
    this.#open = () => new Limiter(() => rules, open(), parts)
    this.#limiter = this.#open()
  }

  /** Decides about a request synchronously; charges every rule that matched, or none. */
  check(request: CheckRequest): Decision {
    checkRequest(request)
    return this.#limiter.check(request)
  }

  /**
   * Settles a request that `check` was asked about with an estimate: every rule that matched gives back the excess, or
   * charges the rest, whether it fits or not. Debt is at most one whole budget: `dropped` of each verdict says what was
   * beyond it. Returns undefined where there is nothing to do: the request was refused, or cost what was charged.
   */
  settle(request: CheckRequest, decision: Decision, cost: number): Decision | undefined {
    checkRequest(request)
    checkActual(cost)
    return this.#limiter.settle(request, decision, cost)
  }

  /** Like check, and holds the permits of `concurrency` rules until they are released. */
  acquire(request: CheckRequest): Permit<Decision> {
    checkRequest(request)
    // A permit gives back where it was taken, also when everything was forgotten meanwhile.
    const limiter = this.#limiter
    const { decision, permits } = limiter.acquire(request)
    if (!decision.allowed || permits === undefined) return new Permit(decision, undefined)
    const permit = new Permit(decision, () => limiter.release(permits))
    limiter.keep(permits, permit)
    return permit
  }

  /** Gives the caller of a request the whole budget again, in every rule that matches. */
  reset(request: CheckRequest): void {
    checkRequest(request)
    this.#limiter.reset(request)
  }

  /** Gives all callers the whole budget again, for instance between tests. */
  resetAll(): void {
    this.#limiter = this.#open()
  }
}

/** RuleLimiter on Redis: the same calls, each with a promise. They reject for wrong arguments only. */
export class SharedRuleLimiter {
  readonly #open: OpenStore
  readonly #limiter: Limiter<Store>

  /** @internal */
  constructor(rules: RuleSet, open: OpenStore, parts: LimiterParts) {
    this.#open = open
    this.#limiter = new Limiter(() => rules, open.store, { ...open.parts, ...parts })
  }

  async check(request: CheckRequest): Promise<Decision> {
    checkRequest(request)
    return await this.#limiter.check(request)
  }

  async settle(request: CheckRequest, decision: Decision, cost: number): Promise<Decision | undefined> {
    checkRequest(request)
    checkActual(cost)
    return await this.#limiter.settle(request, decision, cost)
  }

  async acquire(request: CheckRequest): Promise<SharedPermit<Decision>> {
    checkRequest(request)
    const { decision, permits } = await this.#limiter.acquire(request)
    if (!decision.allowed || permits === undefined) return new SharedPermit(decision, undefined)
    const permit = new SharedPermit(decision, async () => this.#limiter.release(permits))
    this.#limiter.keep(permits, permit)
    return permit
  }

  async reset(request: CheckRequest): Promise<void> {
    checkRequest(request)
    await this.#limiter.reset(request)
  }

  /** Only for limits in memory: shared counters are reset one key at a time. */
  async resetAll(): Promise<void> {
    throw new SluiceError('RESET_ALL_NOT_APPLICABLE', 'resetAll', `the counters of this limiter are ${this.#open.name}`)
  }

  /** Closes the connection. A process that exits need not call it. */
  async close(): Promise<void> {
    await this.#open.close()
  }
}

function isList(rules: RuleFile | readonly RuleFile[]): rules is readonly RuleFile[] {
  return Array.isArray(rules)
}
