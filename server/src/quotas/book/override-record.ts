import { ALGORITHMS } from 'sluice/internal/core/algorithms/algorithms'
import type { CalendarUnit } from 'sluice/internal/core/calendar'
import { SluiceError } from 'sluice/internal/core/errors'
import { type Algorithm, compileLimit, type Limit, type LimitOptions } from 'sluice/internal/core/limit'
import type { OwnLimit } from 'sluice/internal/core/rules/account'
import { UNIT_MS } from 'sluice/internal/core/rules/compile-rule'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import { optionsOf } from 'sluice/internal/core/rules/shared-parts'
import type { Override } from '../model.ts'
import type { PassOver } from './passed-over.ts'

/** An OverrideScope is what an override is for: the rules of a domain, or one of them by its id or name. */
export interface OverrideScope {
  readonly domain: string
  readonly rule: string | undefined
}

type Numbers = Pick<Override, 'requestsPerUnit' | 'unit' | 'algorithm' | 'burst'>

/** The algorithm of an override whose window follows the calendar in the customer's time zone. */
const CALENDAR = 'calendar'

/** An OverrideRecord is what decisions need of an override. */
export class OverrideRecord {
  readonly id: string
  readonly path: string
  /** Undefined: for every rule. */
  readonly scope: OverrideScope | undefined
  readonly effectiveAtMs: number
  /** Infinity: without end. */
  readonly expiresAtMs: number
  readonly numbers: Numbers
  /** What it was compiled for first, and what came of it. */
  #first: Compiled | undefined
  /** The same for every other limit that it stands in for. */
  #others: Map<Limit | undefined, Compiled> | undefined

  constructor(override: Override, numbers: Numbers = numbersOf(override), scope = scopeOf(override)) {
    const { id, descriptor, effectiveAtMs, expiresAtMs } = override
    this.id = id
    this.path = pathOf(descriptor)
    this.scope = scope
    this.effectiveAtMs = effectiveAtMs
    this.expiresAtMs = expiresAtMs ?? Number.POSITIVE_INFINITY
    this.numbers = numbers
  }

  /** Returns whether the override is about a rule of a domain; undefined is a level that has none. */
  isFor(domain: string, rule: Rule | undefined): boolean {
    const { scope } = this
    if (scope === undefined) return true
    if (scope.domain !== domain) return false
    return scope.rule === undefined || (rule !== undefined && (scope.rule === rule.id || scope.rule === rule.name))
  }

  /**
   * Returns the limit of the override, in place of another: it counts as that does where the override says nothing, so
   * that what was used stays used. Undefined where the numbers make no limit: that is reported when it is found.
   */
  ownLimit(instead: Limit | undefined, timeZone: string, passOver?: PassOver): OwnLimit | undefined {
    const first = this.#first
    if (first !== undefined && first.instead === instead && first.timeZone === timeZone) return first.own
    const other = this.#others?.get(instead)
    if (other !== undefined && other.timeZone === timeZone) return other.own
    const compiled = this.#compile(instead, timeZone, passOver)
    if (first === undefined || first.instead === instead) this.#first = compiled
    else this.#keep(compiled)
    return compiled.own
  }

  #compile(instead: Limit | undefined, timeZone: string, passOver: PassOver | undefined): Compiled {
    const wrong = (reason: string): void => passOver?.('overrides', this.id, reason)
    const limit = limitOf(this.numbers, instead, timeZone, wrong)
    const { id, scope } = this
    const namesRule = scope?.rule !== undefined
    const own = limit && Object.freeze({ id, limit, namesRule, mayAdd: scope !== undefined && !namesRule })
    return { instead, timeZone, own }
  }

  /** #keep forgets the limits of rules that are no longer in force, when there are many. */
  #keep(compiled: Compiled): void {
    if (this.#others === undefined || this.#others.size >= MAX_COMPILED) this.#others = new Map()
    this.#others.set(compiled.instead, compiled)
  }
}

interface Compiled {
  readonly instead: Limit | undefined
  readonly timeZone: string
  readonly own: OwnLimit | undefined
}

/** An override of more rules than that is compiled more often. */
const MAX_COMPILED = 32

function numbersOf({ requestsPerUnit, unit, algorithm, burst }: Numbers): Numbers {
  return { requestsPerUnit, unit, algorithm, burst }
}

/** Returns what an override is for; undefined: every rule. */
export function scopeOf({ domain, rule }: Pick<Override, 'domain' | 'rule'>): OverrideScope | undefined {
  return domain === undefined ? undefined : { domain, rule }
}

/** Returns the first override of a list that is about a rule at a path of a domain, at a time. */
export function inForce(
  overrides: readonly OverrideRecord[] | undefined,
  domain: string,
  path: string,
  rule: Rule | undefined,
  nowMs: number,
): OverrideRecord | undefined {
  if (overrides === undefined) return undefined
  for (const each of overrides) {
    if (each.path !== path || nowMs < each.effectiveAtMs || nowMs >= each.expiresAtMs) continue
    if (each.isFor(domain, rule)) return each
  }
  return undefined
}

/**
 * Orders overrides: for one rule first, then for a domain, then the rest. Of equal ones, the last to take effect comes
 * first.
 */
export function byEffect(a: OverrideRecord, b: OverrideRecord): number {
  return width(a) - width(b) || b.effectiveAtMs - a.effectiveAtMs || (a.id < b.id ? 1 : -1)
}

const width = ({ scope }: OverrideRecord): number => (scope === undefined ? 2 : scope.rule === undefined ? 1 : 0)

/**
 * Writes a descriptor as rules do, below the tiered pattern: `default` is '', `endpoint:POST /orders` is `endpoint=POST
 * /orders`. Several levels are written as in rules, `region=eu/endpoint=POST /orders`.
 */
export function pathOf(descriptor: string): string {
  if (descriptor === 'default') return ''
  const colon = descriptor.indexOf(':')
  const equals = descriptor.indexOf('=')
  if (colon < 0 || (equals >= 0 && equals < colon)) return descriptor
  return `${descriptor.slice(0, colon)}=${descriptor.slice(colon + 1)}`
}

/** Compiles the limit of an override; undefined where its numbers make none. */
export function limitOf(
  numbers: Numbers,
  instead: Limit | undefined,
  timeZone: string,
  wrong: (reason: string) => void = () => {},
): Limit | undefined {
  try {
    return compileLimit(limitOptions(numbers, instead, timeZone))
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    wrong(error.message)
    return undefined
  }
}

/** Returns how an override counts: as it says, and otherwise like the limit that it replaces. */
export function limitOptions(numbers: Numbers, instead: Limit | undefined, timeZone: string): LimitOptions {
  const { requestsPerUnit: limit, unit, algorithm, burst } = numbers
  const like = instead && optionsOf(instead)
  const isCalendar = algorithm === CALENDAR || (algorithm === undefined && like?.calendar !== undefined)
  if (isCalendar && unit in CALENDAR_UNITS) {
    const { calendar: _calendar, burst: _burst, ...rest } = algorithm === undefined ? (like ?? {}) : {}
    const calendar = { unit: unit as CalendarUnit, timeZone }
    return { ...rest, algorithm: 'fixed_window', limit, calendar }
  }
  const own = (isCalendar ? 'fixed_window' : algorithm) as Algorithm | undefined
  const isSame = own === undefined || own === (like?.algorithm ?? instead?.algorithm)
  const { limit: _limit, window: _window, burst: _burst, calendar: _calendar, ...rest } = (isSame && like) || { limit }
  const name = own ?? rest.algorithm
  const given = { ...rest, ...(name !== undefined && { algorithm: name }), limit }
  if (name === 'concurrency') return given
  const isBucket = name !== undefined && ALGORITHMS[name]?.maxUnitsPerMs !== undefined
  return { ...given, window: UNIT_MS[unit], ...(burst !== undefined && isBucket && { burst }) }
}

const CALENDAR_UNITS: Readonly<Record<CalendarUnit, true>> = { day: true, week: true, month: true, year: true }
