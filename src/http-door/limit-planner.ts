import { SluiceError } from '../core/errors.ts'
import type { KeyEncoder } from '../core/key-encoder.ts'
import type { Rule } from '../core/rules/rule-set.ts'
import { chargeOf, type PlannedCharge } from '../engine/charge.ts'
import { andThen } from '../engine/maybe.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { OpenStore } from '../stores/open/open-store.ts'
import { type Caller, keyText } from './caller.ts'
import type { ChargePlanner, ResetCaller } from './charge-planner.ts'
import { type Cost, checkedCost, givenCost } from './given-cost.ts'
import { guarded, type ReportError } from './guarded.ts'
import type { By, LimitSpec } from './limit-spec.ts'
import { SpecRules } from './spec-rules.ts'

const DOMAIN = 'http'
const DEFAULT_BY: readonly By[] = ['user', 'api_key', 'ip']

interface CompiledSpec<R> {
  readonly spec: LimitSpec<R>
  readonly rules: SpecRules<R>
  readonly by: readonly By[]
  readonly position: number
  /** The start of its counters' keys. Each limit without a name has a separate one. */
  readonly domain: string
  /** Set where nothing about the limit depends on the request: what a request weighs. */
  readonly fixedCost: number | undefined
}

/** Plans by limits that the app itself gave: one, or several that are charged together or not at all. */
export class LimitPlanner<R> implements ChargePlanner<R> {
  readonly #specs: readonly CompiledSpec<R>[]
  readonly #cost: Cost<R>
  readonly #keys: KeyEncoder
  readonly #report: ReportError
  readonly countsKeys: boolean
  readonly isNet: boolean

  constructor(specs: readonly LimitSpec<R>[], cost: Cost<R>, open: LimitStore, report: ReportError) {
    const { keys } = open
    const known = specs.map((spec, position) => compiled(spec, position, specs.length === 1, cost))
    checkNames(known)
    this.#specs = known.map((each) => (each.spec.name === undefined ? claimed(each, open) : each))
    this.#cost = cost
    this.#keys = keys
    this.#report = report
    this.countsKeys = this.#specs.some(({ by }) => by.includes('api_key'))
    this.isNet = this.#specs.some(({ by: [first] }) => first === 'ip' || first === 'everyone')
  }

  plan(request: R, caller: Caller): MaybePromise<readonly PlannedCharge[]> {
    const charges = this.#plan(request, caller)
    const { moreApiKeys } = caller
    return moreApiKeys === undefined ? charges : andThen(charges, (list) => this.#forEach(moreApiKeys, list))
  }

  #plan(request: R, caller: Caller): MaybePromise<readonly PlannedCharge[]> {
    if (this.#specs.length === 1) {
      const charge = this.#charge(this.#specs[0], request, caller)
      return charge instanceof Promise ? charge.then((only) => [only]) : [charge]
    }
    const charges = this.#specs.map((each) => this.#charge(each, request, caller))
    return charges.some((each) => each instanceof Promise) ? Promise.all(charges) : (charges as PlannedCharge[])
  }

  planReset(caller: ResetCaller): readonly PlannedCharge[] {
    return this.#specs.flatMap((each) => {
      const { spec, rules } = each
      const [kind, value] = typeof spec.by === 'function' ? ['key', caller.key] : ownerOf(caller, each.by)
      // A limit of any amount has the same key: the amount is not part of it.
      return value === undefined ? [] : [this.#chargeOf(each, kind, value, rules.fixed ?? 1, 0)]
    })
  }

  scopeOf({ entries: [{ key, value }], rule }: PlannedCharge): string {
    return `${key}:${this.#keys.value(value, rule.path[0])}`
  }

  close(): void {}

  #charge(each: CompiledSpec<R>, request: R, caller: Caller): MaybePromise<PlannedCharge> {
    const { spec, rules, by, fixedCost } = each
    if (fixedCost !== undefined) {
      const kind = kindOf(caller, by)
      return this.#chargeOf(each, kind, valueFor(caller, kind), rules.fixed as number, fixedCost)
    }
    return andThen(this.#ownKey(spec, request, caller), (text) =>
      andThen(rules.amountFor(request, caller, this.#report), (amount) =>
        andThen(givenCost(spec.cost ?? this.#cost, request, caller, this.#report), (weight) => {
          const [kind, value] = text === undefined ? ownerOf(caller, by) : (['key', text] as const)
          return this.#chargeOf(each, kind, value, amount, weight)
        }),
      ),
    )
  }

  /** Returns what a function of the app's says that a caller is counted by; undefined for the address. */
  #ownKey({ by }: LimitSpec<R>, request: R, caller: Caller): MaybePromise<string | undefined> {
    if (typeof by !== 'function') return undefined
    return guarded<string | undefined>(
      () => andThen(by(request, caller), keyText),
      (error) => void this.#report(error),
    )
  }

  /** Charges all keys of a request, because which one the app uses is not known here. */
  #forEach(keys: readonly string[], charges: readonly PlannedCharge[]): readonly PlannedCharge[] {
    return charges.flatMap((charge) => {
      if (charge.entries[0].key !== 'api_key') return [charge]
      const { rule, cost, descriptor } = charge
      const others = keys.map((value) => this.#chargeFor(rule, 'api_key', value, cost, descriptor))
      return [charge, ...others]
    })
  }

  #chargeOf({ rules, position }: CompiledSpec<R>, kind: string, value: string, amount: number, cost: number) {
    return this.#chargeFor(rules.ruleFor(amount, kind === 'api_key'), kind, value, cost, position)
  }

  #chargeFor(rule: Rule, kind: string, value: string, cost: number, position: number): PlannedCharge {
    const entries = [{ key: kind, value }]
    const key = this.#keys.encodeOwn(this.#specs[position].domain, rule, entries, position)
    return chargeOf(rule, key, cost, { domain: DOMAIN, entries, descriptor: position })
  }
}

function compiled<R>(spec: LimitSpec<R>, position: number, isOnly: boolean, gateCost: Cost<R>): CompiledSpec<R> {
  const { by, cost = gateCost } = spec
  const rules = new SpecRules(spec, isOnly ? '' : `limits[${position}].`)
  const isFixed = rules.fixed !== undefined && typeof by !== 'function' && typeof cost === 'number'
  return {
    spec,
    rules,
    by: typeof by === 'function' ? [] : typeof by === 'string' ? [by] : (by ?? DEFAULT_BY),
    position,
    domain: DOMAIN,
    fixedCost: isFixed ? checkedCost(cost) : undefined,
  }
}

/** What is needed of where counters live. */
type LimitStore = Pick<OpenStore, 'keys' | 'claim'>

function claimed<R>(each: CompiledSpec<R>, open: LimitStore): CompiledSpec<R> {
  return { ...each, domain: open.claim(DOMAIN, nameOf(each.rules)) }
}

function nameOf<R>(rules: SpecRules<R>): string {
  return rules.ruleFor(rules.fixed ?? 1, false).name
}

type Owner = readonly [kind: string, value: string]

/** Returns whose budget it is: what of a caller, and its value. */
function ownerOf(caller: Caller, by: readonly By[]): Owner {
  const kind = kindOf(caller, by)
  return [kind, valueFor(caller, kind)]
}

/** Returns the first of several that is known of a caller, or else the address. */
function kindOf(caller: Caller, by: readonly By[]): By {
  for (let i = 0; i < by.length; i++) {
    const kind = by[i]
    if (kind === 'everyone' || (kind === 'api_key' ? caller.apiKey : caller[kind]) !== undefined) return kind
  }
  return 'ip'
}

/** Returns what a caller has of a kind. Callers without an address share a budget. */
function valueFor(caller: Caller, kind: By): string {
  if (kind === 'everyone') return ''
  return (kind === 'api_key' ? caller.apiKey : caller[kind]) ?? 'unknown'
}

/** Refuses two limits of one name: their counters would be the same, and so would their policies. */
function checkNames<R>(specs: readonly CompiledSpec<R>[]): void {
  const names = new Set<string>()
  for (const [i, { rules, spec }] of specs.entries()) {
    const name = nameOf(rules)
    if (names.has(name)) {
      throw new SluiceError(
        'GATE_OPTIONS_INVALID',
        `limits[${i}].name`,
        `${JSON.stringify(spec.name ?? name)} is already used`,
      )
    }
    names.add(name)
  }
}
