import type { Decision } from '../core/combine.ts'
import type { Verdict } from '../core/decision.ts'
import { compileLimit, MAX_COUNT } from '../core/limit.ts'
import { DEFAULTS } from '../core/rules/rule-defaults.ts'
import type { Rule } from '../core/rules/rule-set.ts'
import { chargeOf } from '../engine/charge.ts'
import { conclude } from '../engine/decider.ts'
import type { Observer } from '../engine/observer.ts'
import { nearestWindow } from '../stores/hits/hit-window.ts'

const DOMAIN = 'hits'
const MAX_RULES = 1_000

/** What a hit was held against: how many in which window, under which name. */
export interface HitLimit {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
}

/**
 * Makes decisions of counted hits, for libraries that count first and compare afterwards. The limit comes with each hit
 * and may differ from one to the next; the limits seen are kept as rules.
 */
export class HitDecisions {
  readonly #observer: Observer | undefined
  readonly #rules = new Map<string, Rule>()
  #last: { readonly of: HitLimit; readonly rule: Rule } | undefined

  constructor(observer?: Observer) {
    this.#observer = observer
  }

  /** Whether there is an observer: without one, callers can skip making a decision. */
  get isObserved(): boolean {
    return this.#observer !== undefined
  }

  /** Returns the start time to pass to `of`. Costs nothing without an observer. */
  now(): number {
    return this.isObserved ? performance.now() : 0
  }

  /** Makes the decision about one hit of a key, whose counting began at `startedAt`. */
  of(key: string, limit: HitLimit, verdict: Verdict, startedAt: number): Decision {
    const rule = this.#ruleOf(limit)
    const about = { domain: DOMAIN, entries: [{ key: 'key', value: key }], descriptor: 0 }
    return conclude([chargeOf(rule, key, 1, about)], [verdict], this.#observer, startedAt)
  }

  #ruleOf(of: HitLimit): Rule {
    const last = this.#last
    if (
      last !== undefined &&
      last.of.limit === of.limit &&
      last.of.name === of.name &&
      last.of.windowMs === of.windowMs
    )
      return last.rule
    const id = `${of.limit} ${of.windowMs} ${of.name}`
    const rule = this.#rules.get(id) ?? ruleOf(of)
    if (this.#rules.size >= MAX_RULES) this.#rules.clear()
    this.#rules.set(id, rule)
    this.#last = { of, rule }
    return rule
  }
}

function ruleOf({ name, limit, windowMs }: HitLimit): Rule {
  const amount = Math.min(Math.max(0, Math.floor(limit) || 0), MAX_COUNT)
  const window = nearestWindow(windowMs)
  const compiled = compileLimit({ limit: amount, window, algorithm: 'fixed_window', anchor: 'first_hit' })
  return Object.freeze({ ...DEFAULTS, id: name, name, limit: compiled, path: [] })
}
