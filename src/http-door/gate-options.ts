import { got, SluiceError } from '../core/errors.ts'
import { FIELD_FORMS, type FieldSettings } from '../core/http/field-renderer.ts'
import { COUNTING_OPTIONS } from '../core/limit-options.ts'
import type { Observer } from '../engine/observer.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { StoreOptions } from '../stores/open/store-options.ts'
import type { IdentityOptions } from './caller.ts'
import type { Cost } from './given-cost.ts'
import { type LimitSpec, SPEC_OPTIONS } from './limit-spec.ts'
import type { RuleOptions } from './rule-planner.ts'

/** GateOptions are the plain options of every middleware. One limit, or `limits`, or `rules`. */
export interface GateOptions<R> extends Partial<LimitSpec<R>>, Partial<RuleOptions<R>>, StoreOptions {
  /** Several limits; a request passes when all of them admit it, and is charged to all of them or to none. */
  readonly limits?: readonly LimitSpec<R>[]
  /** Who is calling. Default: the address that the framework sees. */
  readonly identity?: IdentityOptions<R>
  /** How much a request takes. Default: 1. 0 only looks. */
  readonly cost?: Cost<R>
  /** Requests that are not counted at all. Default: none. */
  readonly skip?: (request: R) => MaybePromise<boolean>
  /**
   * When what a request took is given back: after a failure (a status of 400 and above), after a success, or as a
   * function of the status says, which gets undefined for a client that left before the answer: whoever gives back then
   * has no limit for those who leave while handlers work on. Default: never.
   */
  readonly refund?: 'failure' | 'success' | ((status: number | undefined, request: R) => boolean)
  /** Which fields are sent. Default: the current ones, the legacy ones and Retry-After. */
  readonly headers?: FieldSettings | boolean
  /** Told what went wrong inside of the limiter; requests go on as `onStoreFailure` says. Default: a process warning. */
  readonly onError?: (error: unknown) => void
  /** Hears of every decision. Default: nobody. */
  readonly observer?: Observer | undefined
}

/** What of the plain options is found in no other library: whoever gives one of these means them. */
export type PlainMark<R> =
  | Required<Pick<GateOptions<R>, 'window'>>
  | Required<Pick<GateOptions<R>, 'calendar'>>
  | Required<Pick<GateOptions<R>, 'algorithm'>>
  | Required<Pick<GateOptions<R>, 'limits'>>
  | Required<Pick<GateOptions<R>, 'rules'>>

const OWN_OPTIONS = ['limits', 'identity', 'skip', 'refund', 'headers', 'onError', 'observer'] as const
/** STORE_OPTIONS are those about where counters live. */
export const STORE_OPTIONS = ['redis', 'secret', 'keyPrefix', 'redisTimeoutMs', 'maxKeys', 'log', 'clock'] as const
const RULE_OPTIONS = ['rules', 'domain', 'descriptors', 'routing', 'onRulesRefused'] as const

/** GATE_OPTIONS are the names of all plain options. */
export const GATE_OPTIONS: ReadonlySet<string> = new Set([
  ...OWN_OPTIONS,
  ...STORE_OPTIONS,
  ...RULE_OPTIONS,
  ...COUNTING_OPTIONS,
  ...SPEC_OPTIONS,
])

export function hasRules<R>(options: GateOptions<R>): options is GateOptions<R> & RuleOptions<R> {
  return options.rules !== undefined
}

/** limitsOf returns the limits that options have. Given among a middleware's options, a limit's cost is the middleware's. */
export function limitsOf<R>(options: GateOptions<R>): readonly LimitSpec<R>[] {
  return (options.limits ?? [options as LimitSpec<R>]).map((spec) => {
    const entries = [...COUNTING_OPTIONS, ...SPEC_OPTIONS].map((name) => [name, spec[name]] as const)
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as unknown as LimitSpec<R>
  })
}

/** checkOptions refuses options that there are not, and those that would have no effect. */
export function checkOptions<R>(options: GateOptions<R>): void {
  for (const option of Object.keys(options)) {
    if (!GATE_OPTIONS.has(option)) throw new SluiceError('OPTION_UNKNOWN', option, 'no such option')
  }
  const given = (['limit', 'limits', 'rules'] as const).filter((option) => options[option] !== undefined)
  if (given.length !== 1) {
    const detail = given.length === 0 ? 'none of limit, limits and rules is given' : `${given.join(' beside ')}`
    throw new SluiceError('GATE_OPTIONS_INVALID', 'options', detail)
  }
  if (options.limit === undefined) {
    const lost = [...COUNTING_OPTIONS, ...SPEC_OPTIONS].find((name) => name !== 'cost' && options[name] !== undefined)
    if (lost !== undefined) {
      const detail = `it belongs to a limit; put it into ${options.rules === undefined ? 'limits' : 'the rules'}`
      throw new SluiceError('GATE_OPTIONS_INVALID', lost, detail)
    }
  }
  for (const [i, spec] of (options.limits ?? []).entries()) {
    for (const option of Object.keys(spec)) {
      const isKnown = (COUNTING_OPTIONS as readonly string[]).includes(option) || SPEC_NAMES.has(option)
      if (!isKnown) throw new SluiceError('OPTION_UNKNOWN', `limits[${i}].${option}`, 'no such option')
    }
  }
  for (const [option, value] of Object.entries(options.routing ?? {})) {
    const isKnown = option === 'caseSensitive' || option === 'strict'
    if (!isKnown) throw new SluiceError('OPTION_UNKNOWN', `routing.${option}`, 'no such option')
    if (typeof value !== 'boolean') throw new SluiceError('GATE_OPTIONS_INVALID', `routing.${option}`, got(value))
  }
  const { headers } = options
  if (typeof headers === 'object' && headers.standard && !FIELD_FORMS.includes(headers.standard)) {
    throw new SluiceError('GATE_OPTIONS_INVALID', 'headers.standard', `got ${JSON.stringify(headers.standard)}`)
  }
}

const SPEC_NAMES: ReadonlySet<string> = new Set(SPEC_OPTIONS)

/** fieldSettings spells `headers`: false still says when to come back. */
export function fieldSettings(headers: FieldSettings | boolean): FieldSettings {
  if (headers === false) return { random: Math.random, standard: false, legacy: false }
  return { random: Math.random, ...(headers === true ? {} : headers) }
}
