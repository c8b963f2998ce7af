import { compileLimit, type Limit, type LimitOptions } from '../limit.ts'
import type { PathStep } from './rule-set.ts'

/** What limits of rules were compiled from: a limit that is to be sent elsewhere is compiled there. */
const origins = new WeakMap<Limit, LimitOptions>()

/** Returns options that compile to the limit of a rule. Only a rule without a limit was not made of any. */
export function optionsOf(limit: Limit): LimitOptions {
  return origins.get(limit) ?? { limit: limit.max, window: limit.windowMs }
}

/** Like compileLimit for the limit of a rule, which optionsOf knows. */
export function compileRuleLimit(options: LimitOptions): Limit {
  const limit = compileLimit(options)
  origins.set(limit, options)
  return limit
}

/**
 * Makes one object of parts that are equal. Rules of one set mostly differ in little more than their pattern, and what
 * a hundred thousand of them have in common stays in the processor's caches.
 */
export class SharedParts {
  readonly #limits = new Map<string, Limit>()
  readonly #steps = new Map<string, PathStep>()
  readonly #paths = new Map<readonly PathStep[], Map<PathStep, readonly PathStep[]>>()

  /** Compiles a limit. It throws what compileLimit throws. */
  limit(options: LimitOptions): Limit {
    const json = JSON.stringify(options)
    const known = this.#limits.get(json)
    if (known !== undefined) return known
    const limit = compileRuleLimit(options)
    this.#limits.set(json, limit)
    return limit
  }

  /** Returns the path that leads one step further than another. */
  path(parent: readonly PathStep[], step: PathStep): readonly PathStep[] {
    const shared = this.#step(step)
    const longer = this.#paths.get(parent) ?? new Map<PathStep, readonly PathStep[]>()
    this.#paths.set(parent, longer)
    const path = longer.get(shared) ?? Object.freeze([...parent, shared])
    longer.set(shared, path)
    return path
  }

  #step(step: PathStep): PathStep {
    if (step.metadata !== undefined) return step
    const json = JSON.stringify(step)
    const known = this.#steps.get(json) ?? step
    this.#steps.set(json, known)
    return known
  }
}
