import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { Health, type NodeHealth } from '../../edge/health/health.ts'
import type { Config } from '../settings/config.ts'

type HealthConfig = Pick<Config, 'healthNeedsRedis' | 'healthNeedsRules' | 'redisUrl'>

/** Decides whether health checks of a process pass: its rules, Redis if that is required, and its node. */
export class ServingHealth {
  readonly health = new Health()
  readonly #config: HealthConfig
  readonly #rules: () => RuleSet
  #isRedisMissing: boolean
  #heldBack = ''
  #isDraining = false

  constructor(config: HealthConfig, rules: () => RuleSet) {
    this.#config = config
    this.#rules = rules
    this.#isRedisMissing = config.healthNeedsRedis && config.redisUrl !== undefined
    this.judge()
  }

  /** Checks again. Call it when other rules are in force. */
  judge(): void {
    if (this.#isDraining) return
    const reason = this.#reason()
    this.health.set(reason === '', reason)
  }

  #reason(): string {
    if (this.#heldBack !== '') return this.#heldBack
    if (this.#isRedisMissing) return 'Redis is not reached'
    return this.#config.healthNeedsRules && this.#rules().domains.size === 0 ? 'no rules are in force' : ''
  }

  /** Receives whether the servers of the store can be reached. */
  storeReached(isReached: boolean): void {
    this.#isRedisMissing = this.#config.healthNeedsRedis && !isReached
    this.judge()
  }

  /** Receives what the node says about itself. */
  hear({ unready, degraded }: NodeHealth): void {
    this.#heldBack = unready
    this.health.degraded = degraded
    this.judge()
  }

  /** Fails health checks from now on. */
  drain(): void {
    this.#isDraining = true
    this.health.set(false, 'draining')
  }
}
