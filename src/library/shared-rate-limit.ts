import { combineOne } from '../core/combine.ts'
import type { Verdict } from '../core/decision.ts'
import { addErrorRules, SluiceError } from '../core/errors.ts'
import { DOOR_RULES } from '../core/library-error-rules.ts'
import type { Limit } from '../core/limit.ts'
import type { Rule } from '../core/rules/rule-set.ts'
import { chargeOf, type PlannedCharge } from '../engine/charge.ts'
import { Decider } from '../engine/decider.ts'
import type { Observer } from '../engine/observer.ts'
import type { Store } from '../engine/ports.ts'
import { type AppStoreOptions, openAppStore } from '../stores/open/open-app-store.ts'
import type { OpenStore } from '../stores/open/open-store.ts'
import { checkCost, checkKey, checkPermits, checkRefund, checkSettled, type SettledCost } from './checks.ts'
import { SharedPermit } from './permit.ts'

const DOMAIN = 'app'

/** RateLimiter on Redis: the same calls, each with a promise. */
export class SharedRateLimiter {
  readonly limit: Limit
  readonly #rule: Rule
  readonly #domain: string
  readonly #open: OpenStore
  readonly #decider: Decider<Store>

  /** @internal An unnamed limit shares its counters with no other of its process. */
  constructor(rule: Rule, isNamed: boolean, options: AppStoreOptions, observer: Observer | undefined) {
    addErrorRules(DOOR_RULES)
    this.limit = rule.limit
    this.#rule = rule
    this.#open = openAppStore(options)
    this.#domain = isNamed ? DOMAIN : this.#open.claim(DOMAIN, rule.name)
    this.#decider = new Decider(this.#open.store, observer)
  }

  /** Decides about one request of a caller, and charges it when it is allowed. It rejects for wrong arguments only. */
  async check(key: string, cost = 1): Promise<Verdict> {
    checkKey(key)
    checkCost(cost)
    const { verdicts } = await this.#decider.decide([this.#charge(key, cost)])
    return verdicts[0].verdict
  }

  /** Looks at a caller's budget without charging. */
  peek(key: string): Promise<Verdict> {
    return this.check(key, 0)
  }

  /** Gives budget back, for instance when the work that was charged did not happen. */
  async refund(key: string, cost = 1): Promise<Verdict> {
    checkRefund(cost)
    return this.check(key, -cost)
  }

  /** Corrects a charge that was an estimate, see RateLimiter. One that was decided without Redis is left as it is. */
  async settle(key: string, verdict: Verdict, cost: SettledCost): Promise<Verdict | undefined> {
    checkKey(key)
    checkSettled(cost)
    const decision = combineOne({ rule: this.#rule, descriptor: 0, verdict })
    const settled = await this.#decider.settle([this.#charge(key, cost.charged)], decision, cost.actual)
    return settled?.verdicts[0].verdict
  }

  /** Takes a permit of a `concurrency` limit. */
  async acquire(key: string, cost = 1): Promise<SharedPermit> {
    checkKey(key)
    checkPermits(this.limit, cost)
    const { decision, permits } = await this.#decider.acquire([this.#charge(key, cost)])
    const { verdict } = decision.verdicts[0]
    if (permits === undefined) return new SharedPermit(verdict, undefined)
    const permit = new SharedPermit(verdict, async () => this.#decider.release(permits))
    this.#decider.keep(permits, permit)
    return permit
  }

  /** Gives a caller the whole budget again. */
  async reset(key: string): Promise<void> {
    checkKey(key)
    await this.#decider.reset([this.#charge(key, 0)])
  }

  /** Only for limits in memory: shared counters are reset one key at a time. */
  async resetAll(): Promise<void> {
    throw new SluiceError('RESET_ALL_NOT_APPLICABLE', 'resetAll', `the counters of this limit are ${this.#open.name}`)
  }

  /** Closes the connection. A process that exits need not call it. */
  async close(): Promise<void> {
    await this.#open.close()
  }

  #charge(key: string, cost: number): PlannedCharge {
    const entries = [{ key: 'key', value: key }]
    return chargeOf(this.#rule, this.#open.keys.encode(this.#domain, this.#rule, entries), cost, {
      domain: DOMAIN,
      entries,
      descriptor: 0,
    })
  }
}
