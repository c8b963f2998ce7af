import { checkOptions } from '../core/check-options.ts'
import { canCount, hindranceOf } from '../core/consistency.ts'
import { formatDuration, parseDuration } from '../core/duration.ts'
import { got, SluiceError } from '../core/errors.ts'
import { compileLimit, isLeasable, type Limit, withDefaultAlgorithm } from '../core/limit.ts'
import { HEADER_NAME, HEADER_VALUE } from '../core/limit-options.ts'
import { DEFAULTS } from '../core/rules/rule-defaults.ts'
import { OPEN_PATH, SECRET_PATH } from '../core/rules/rule-path.ts'
import type { Rule, RuleResponse } from '../core/rules/rule-set.ts'
import { andThen } from '../engine/maybe.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { Caller } from './caller.ts'
import { guarded, type ReportError } from './guarded.ts'
import { type LimitSpec, SPEC_FORMS, type SpecResponse } from './limit-spec.ts'

const MAX_RULES = 1_000

/** Makes the rules of one LimitSpec: one for each amount that was ever asked for, and remembers them. */
export class SpecRules<R> {
  readonly #spec: LimitSpec<R>
  readonly #where: string
  readonly #open = new Map<number, Rule>()
  readonly #secret = new Map<number, Rule>()
  readonly #tiers: ReadonlyMap<string, number> | undefined
  readonly #response: RuleResponse | undefined
  /** The smallest known amount above 0: used for callers for whom the app returns nothing valid. */
  #least: number

  constructor(spec: LimitSpec<R>, where: string) {
    this.#spec = spec
    this.#where = where
    const { limit } = spec
    if (typeof limit === 'object' && limit !== null) this.#tiers = new Map(Object.entries(limit))
    this.#least = this.#tiers === undefined ? Number.POSITIVE_INFINITY : Math.min(...this.#tiers.values())
    // Errors in the options are thrown when the middleware is created, not at the first request.
    checkOptions(spec, SPEC_FORMS, where)
    this.#response = responseOf(spec.response, `${where}response`)
    const amounts = this.#tiers?.values() ?? [typeof limit === 'number' ? limit : 1]
    for (const amount of amounts) this.ruleFor(amount, false)
    if (this.#tiers?.size === 0) throw new SluiceError('LIMIT_INVALID', `${where}limit`, got(limit))
  }

  /** The amount of a limit that is the same for every caller. */
  get fixed(): number | undefined {
    return typeof this.#spec.limit === 'number' ? this.#spec.limit : undefined
  }

  /** Returns how many a caller has. Where a function fails, it is the least that it ever said, and else 1. */
  amountFor(request: R, caller: Caller, report: ReportError): MaybePromise<number> {
    const { limit } = this.#spec
    if (typeof limit === 'number') return limit
    if (typeof limit !== 'function') {
      return (caller.tier === undefined ? undefined : this.#tiers?.get(caller.tier)) ?? this.#least
    }
    return guarded(
      () => andThen(limit(request, caller), (amount) => this.#checked(amount)),
      (error) => {
        report(error)
        return Number.isFinite(this.#least) ? this.#least : 1
      },
    )
  }

  /** Makes sure that there is a rule for an amount. */
  #checked(amount: number): number {
    this.ruleFor(amount, false)
    if (amount > 0 && amount < this.#least) this.#least = amount
    return amount
  }

  ruleFor(amount: number, isSecret: boolean): Rule {
    const rules = isSecret ? this.#secret : this.#open
    const known = rules.get(amount)
    if (known !== undefined) return known
    if (rules.size >= MAX_RULES) rules.clear()
    const rule = this.#compile(amount, isSecret)
    rules.set(amount, rule)
    return rule
  }

  #compile(amount: number, isSecret: boolean): Rule {
    const { name, by, cost: _cost, limit: _limit, response: _response, retryAfterJitter, ...rest } = this.#spec
    const { shadow, onStoreFailure, openFor, localShare, timeoutMs, consistency, syncInterval, ...options } = rest
    const given = { ...options, limit: amount }
    const chosen = this.fixed === undefined ? given : withDefaultAlgorithm(given)
    const limit = compileLimit(chosen, this.#where === '' ? '' : this.#where.slice(0, -1))
    const shownName = name ?? defaultName(this.#spec, amount)
    if (consistency !== undefined) checkConsistency(consistency, limit, `${this.#where}consistency`)
    return Object.freeze({
      ...DEFAULTS,
      id: shownName,
      name: shownName,
      limit,
      consistency: consistency ?? (by === 'everyone' && isLeasable(limit) ? 'leased' : DEFAULTS.consistency),
      ...(syncInterval !== undefined && { syncIntervalMs: parseDuration(syncInterval, `${this.#where}syncInterval`) }),
      ...(shadow !== undefined && { shadow }),
      ...(onStoreFailure !== undefined && { onStoreFailure }),
      ...(openFor !== undefined && { openForMs: parseDuration(openFor, `${this.#where}openFor`) }),
      ...(localShare !== undefined && { localShare }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      retryAfterJitterMs: parseDuration(retryAfterJitter ?? 0, `${this.#where}retryAfterJitter`),
      response: this.#response,
      path: isSecret ? SECRET_PATH : OPEN_PATH,
    })
  }
}

/** Holds a limit to what rules may have. */
function checkConsistency(consistency: Rule['consistency'], limit: Limit, where: string): void {
  if (canCount(limit, consistency)) return
  const why = isLeasable(limit) ? '' : ', which is always exact'
  const detail = `${got(consistency)} cannot be combined with ${hindranceOf(limit)}${why}`
  throw new SluiceError('GATE_OPTIONS_INVALID', where, detail)
}

/** Holds a response to what rules may have: frameworks throw at anything else, at the worst moment. */
function responseOf(response: SpecResponse | undefined, where: string): RuleResponse | undefined {
  if (response === undefined) return undefined
  const { status = 429, body, headers = [] } = response
  const pairs: RuleResponse['headers'] = Array.isArray(headers) ? headers : Object.entries(headers)
  for (const pair of pairs) {
    if (Array.isArray(pair) && HEADER_NAME.test(pair[0]) && HEADER_VALUE.test(pair[1])) continue
    throw new SluiceError('GATE_OPTIONS_INVALID', `${where}.headers`, `${JSON.stringify(pair)} is not a valid field`)
  }
  return { status, body: typeof body === 'object' ? JSON.stringify(body) : body, headers: pairs }
}

/** Derives the name of a limit without one. The amount is not part of it where it differs from caller to caller. */
function defaultName<R>({ limit, algorithm, window, calendar }: LimitSpec<R>, amount: number): string {
  const count = typeof limit === 'number' ? String(amount) : 'limit'
  if (algorithm === 'concurrency') return `${count}-at-once`
  if (calendar !== undefined) return `${count}-in-1-${calendar.unit}`
  return `${count}-in-${formatDuration(parseDuration(window ?? 0, 'window'))}`
}
