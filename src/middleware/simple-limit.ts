import type { Decision, RuleVerdict } from '../core/combine.ts'
import type { Verdict } from '../core/decision.ts'
import type { Rule } from '../core/rules/rule-set.ts'
import type { MemoryStore } from '../stores/memory/memory-store.ts'
import type { Caller } from './caller.ts'
import type { Answer } from './decider.ts'
import type { By, SpecRules } from './limit-spec.ts'
import type { OpenStore } from './open-store.ts'

/** A SimpleLimit is a single limit that is the same for every request, in memory: what most middlewares have. */
export class SimpleLimit<R> {
  readonly #open: OpenStore
  readonly #by: readonly By[]
  readonly #cost: number
  readonly #rule: Rule
  readonly #secretRule: Rule

  constructor(rules: SpecRules<R>, by: readonly By[], cost: number, open: OpenStore) {
    this.#open = open
    this.#by = by
    this.#cost = cost
    this.#rule = rules.ruleFor(rules.fixed ?? 0, false)
    this.#secretRule = rules.ruleFor(rules.fixed ?? 0, true)
  }

  decide(memory: MemoryStore, caller: Caller): Answer {
    const kind = kindOf(caller, this.#by)
    const value = whoseOf(caller, kind)
    const rule = kind === 'api_key' ? this.#secretRule : this.#rule
    const verdict = memory.decideOne(`${kind}:${value}`, rule.limit, this.#cost)
    return new SimpleAnswer(this, decisionOf(rule, verdict), kind, value)
  }

  scopeOf(kind: By, value: string): string {
    const { path } = kind === 'api_key' ? this.#secretRule : this.#rule
    return `${kind}:${this.#open.keys.value(value, path[0])}`
  }

  refund(kind: By, value: string): void {
    if (this.#cost > 0) this.#open.memory?.decideOne(`${kind}:${value}`, this.#rule.limit, -this.#cost)
  }
}

class SimpleAnswer<R> implements Answer {
  readonly decision: Decision
  readonly release = undefined
  readonly #limit: SimpleLimit<R>
  readonly #kind: By
  readonly #value: string

  constructor(limit: SimpleLimit<R>, decision: Decision, kind: By, value: string) {
    this.decision = decision
    this.#limit = limit
    this.#kind = kind
    this.#value = value
  }

  get scope(): string {
    return this.#limit.scopeOf(this.#kind, this.#value)
  }

  refund(): void {
    if (this.decision.allowed) this.#limit.refund(this.#kind, this.#value)
  }
}

/** kindOf returns the first of several that is known of a caller, or else the address. */
export function kindOf(caller: Caller, by: readonly By[]): By {
  for (let i = 0; i < by.length; i++) {
    const kind = by[i]
    if (kind === 'everyone' || (kind === 'api_key' ? caller.apiKey : caller[kind]) !== undefined) return kind
  }
  return 'ip'
}

/** whoseOf returns what a caller has of a kind. Those without an address share a budget. */
export function whoseOf(caller: Caller, kind: By): string {
  if (kind === 'everyone') return ''
  return (kind === 'api_key' ? caller.apiKey : caller[kind]) ?? 'unknown'
}

/** decisionOf is the decision of a single rule. */
export function decisionOf(rule: Rule, verdict: Verdict): Decision {
  const tightest: RuleVerdict = { rule, descriptor: 0, verdict }
  return {
    allowed: verdict.allowed,
    retryAfterMs: verdict.kind === 'refused' ? verdict.retryAfterMs : undefined,
    delayMs: verdict.kind === 'allowed' ? verdict.delayMs : 0,
    tightest,
    verdicts: [tightest],
  }
}
