import { combine, type Decision } from '../core/combine.ts'
import type { Verdict } from '../core/decision.ts'
import { got, SluiceError } from '../core/errors.ts'
import { MAX_COUNT } from '../core/limit.ts'
import type { Rule } from '../core/rules/rule-set.ts'
import type { Charge, Lease, MaybePromise } from '../engine/ports.ts'
import type { MemoryStore } from '../stores/memory/memory-store.ts'
import { type Caller, toldText } from './caller.ts'
import type { Answer, Decider, ResetCaller } from './decider.ts'
import { type By, type LimitSpec, SpecRules } from './limit-spec.ts'
import { andThen } from './maybe.ts'
import type { OpenStore } from './open-store.ts'
import { decisionOf, kindOf, SimpleLimit, whoseOf } from './simple-limit.ts'

const DOMAIN = 'http'
const DEFAULT_BY: readonly By[] = ['user', 'api_key', 'ip']

/** A Counter is one limit for one caller: the charge, and what it is called. */
interface Counter extends Charge {
  readonly rule: Rule
  readonly who: Who
}

interface CompiledSpec<R> {
  readonly spec: LimitSpec<R>
  readonly rules: SpecRules<R>
  readonly by: readonly By[]
  /** What tells its counters in memory from those of other limits. */
  readonly mark: string
}

/** Cost says how much a request takes where its limit does not say. */
export type Cost<R> = number | ((request: R, caller: Caller) => MaybePromise<number>)

/** LimitDecider decides by limits that the app itself gave: one, or several that are charged together or not at all. */
export class LimitDecider<R> implements Decider<R> {
  readonly #specs: readonly CompiledSpec<R>[]
  readonly #cost: Cost<R>
  readonly #open: OpenStore
  readonly #holds: boolean
  readonly #isSingle: boolean
  /** Set where nothing about the limit depends on the request. */
  readonly #simple: SimpleLimit<R> | undefined

  constructor(specs: readonly LimitSpec<R>[], cost: Cost<R>, open: OpenStore) {
    this.#specs = specs.map((spec, i) => {
      const { by } = spec
      const order = typeof by === 'function' ? [] : typeof by === 'string' ? [by] : (by ?? DEFAULT_BY)
      const isOnly = specs.length === 1
      const rules = new SpecRules(spec, isOnly ? '' : `limits[${i}].`)
      return { spec, rules, by: order, mark: isOnly ? '' : `${i}:` }
    })
    checkNames(this.#specs)
    this.#cost = cost
    this.#open = open
    this.#holds = specs.some(({ algorithm }) => algorithm === 'concurrency')
    this.#isSingle = specs.length === 1 && !this.#holds && specs[0].shadow !== true
    const [{ spec, rules, by }] = this.#specs
    const { cost: weight = cost } = spec
    if (this.#isSingle && rules.fixed !== undefined && typeof spec.by !== 'function' && typeof weight === 'number') {
      this.#simple = new SimpleLimit(rules, by, checkedCost(weight), open)
    }
  }

  decide(request: R, caller: Caller): MaybePromise<Answer> {
    const { memory } = this.#open
    if (this.#isSingle && memory !== undefined) {
      if (this.#simple !== undefined) return this.#simple.decide(memory, caller)
      const counter = this.#counter(this.#specs[0], request, caller)
      if (counter instanceof Promise) return counter.then((found) => this.#decideOne(memory, found))
      return this.#decideOne(memory, counter)
    }
    return andThen(this.#counters(request, caller), (counters) => this.#ask(counters))
  }

  /** #decideOne decides by a single limit in memory, as most middlewares do. */
  #decideOne(memory: MemoryStore, counter: Counter): Answer {
    const { key, limit, cost } = counter
    const decision = decisionOf(counter.rule, memory.decideOne(key, limit, cost))
    return new LimitAnswer(this.#open, [counter], decision, undefined)
  }

  reset(caller: ResetCaller): MaybePromise<unknown> {
    // A limit of any amount has the same key: the amount is not part of it.
    return Promise.all(
      this.#specs.map((each) => {
        const { spec, rules, by } = each
        const [kind, value] = typeof spec.by === 'function' ? ['key', caller.key] : whoOf(caller, by)
        if (value === undefined) return undefined
        const rule = rules.ruleFor(rules.fixed ?? 1, kind === 'api_key')
        return this.#open.store.reset(this.#keyOf(each, rule, kind, value), rule.limit)
      }),
    )
  }

  close(): MaybePromise<void> {
    return this.#open.close()
  }

  #counters(request: R, caller: Caller): MaybePromise<readonly Counter[]> {
    const counters = this.#specs.map((spec) => this.#counter(spec, request, caller))
    return counters.some((each) => each instanceof Promise) ? Promise.all(counters) : (counters as Counter[])
  }

  #counter(each: CompiledSpec<R>, request: R, caller: Caller): MaybePromise<Counter> {
    const { spec, rules, by } = each
    const who: MaybePromise<unknown> = typeof spec.by === 'function' ? spec.by(request, caller) : undefined
    if (who === undefined && rules.fixed !== undefined && typeof (spec.cost ?? this.#cost) === 'number') {
      return this.#spell(each, whoOf(caller, by), rules.fixed, (spec.cost ?? this.#cost) as number)
    }
    return andThen(andThen(who, toldText), (value) =>
      andThen(rules.amountFor(request, caller), (amount) => {
        const cost = spec.cost ?? this.#cost
        return andThen(typeof cost === 'number' ? cost : cost(request, caller), (weight) => {
          return this.#spell(each, value === undefined ? whoOf(caller, by) : ['key', value], amount, weight)
        })
      }),
    )
  }

  #spell(each: CompiledSpec<R>, who: Who, amount: number, cost: number): Counter {
    const [kind, value] = who
    checkedCost(cost)
    const isSecret = kind === 'api_key'
    const rule = each.rules.ruleFor(amount, isSecret)
    const key = this.#keyOf(each, rule, kind, value)
    return { key, limit: rule.limit, cost, enforce: !rule.shadow, policy: rule, rule, who }
  }

  /** #keyOf spells a key. A store in memory is this one's own and keeps a hash of it: a short spelling will do. */
  #keyOf({ mark }: CompiledSpec<R>, rule: Rule, kind: string, value: string): string {
    if (this.#open.memory !== undefined) return `${mark}${kind}:${value}`
    return this.#open.keys.spell(DOMAIN, rule, [{ key: kind, value }])
  }

  #ask(counters: readonly Counter[]): MaybePromise<Answer> {
    const { store } = this.#open
    if (!this.#holds) {
      return andThen(
        store.decide(counters),
        (verdicts) => new LimitAnswer(this.#open, counters, fold(counters, verdicts), undefined),
      )
    }
    return andThen(
      store.acquire(counters),
      ({ verdicts, lease }) => new LimitAnswer(this.#open, counters, fold(counters, verdicts), lease),
    )
  }
}

/** A LimitAnswer is what was decided by limits of the app's own. */
class LimitAnswer implements Answer {
  readonly decision: Decision
  readonly release: (() => MaybePromise<unknown>) | undefined
  readonly #open: OpenStore
  readonly #counters: readonly Counter[]

  constructor(open: OpenStore, counters: readonly Counter[], decision: Decision, lease: Lease | undefined) {
    this.decision = decision
    this.release = lease === undefined || lease.held.length === 0 ? undefined : () => open.store.release(lease)
    this.#open = open
    this.#counters = counters
  }

  /** Whose budget it was, as it may be shown: no secret, and nothing long. */
  get scope(): string | undefined {
    const { tightest } = this.decision
    if (tightest === undefined) return undefined
    const { who, rule } = this.#counters[tightest.descriptor]
    return `${who[0]}:${this.#open.keys.value(who[1], rule.path[0])}`
  }

  /** refund gives back what was charged: nothing of what was refused, nor of what was decided without the store. */
  refund(): MaybePromise<unknown> {
    const { verdicts } = this.decision
    const charged = this.#counters.filter(({ cost, limit }, i) => {
      const { allowed, fallback } = verdicts[i].verdict
      return allowed && cost > 0 && fallback === undefined && limit.algorithm !== 'concurrency'
    })
    if (charged.length === 0) return undefined
    return this.#open.store.decide(charged.map((counter) => ({ ...counter, cost: -counter.cost })))
  }
}

type Who = readonly [kind: string, value: string]

/** whoOf returns whose budget it is: what of a caller, and its value. */
function whoOf(caller: Caller, by: readonly By[]): Who {
  const kind = kindOf(caller, by)
  return [kind, whoseOf(caller, kind)]
}

function checkedCost(cost: number): number {
  if (!Number.isInteger(cost) || Math.abs(cost) > MAX_COUNT) throw new SluiceError('COST_INVALID', 'cost', got(cost))
  return cost
}

function fold(counters: readonly Counter[], verdicts: readonly Verdict[]): Decision {
  return combine(counters.map(({ rule }, i) => ({ rule, descriptor: i, verdict: verdicts[i] })))
}

/** checkNames refuses two limits of one name: their counters would be the same, and so would their policies. */
function checkNames<R>(specs: readonly CompiledSpec<R>[]): void {
  const names = new Set<string>()
  for (const [i, { rules, spec }] of specs.entries()) {
    const { name } = rules.ruleFor(rules.fixed ?? 1, false)
    if (names.has(name)) {
      throw new SluiceError(
        'GATE_OPTIONS_INVALID',
        `limits[${i}].name`,
        `${JSON.stringify(spec.name ?? name)} is taken`,
      )
    }
    names.add(name)
  }
}
