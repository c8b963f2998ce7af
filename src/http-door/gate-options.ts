import { checkOptions } from '../core/check-options.ts'
import { SluiceError } from '../core/errors.ts'
import { FIELD_FORMS, type FieldSettings } from '../core/http/field-renderer.ts'
import { COUNTING_OPTIONS } from '../core/limit-options.ts'
import {
  BOOLEAN,
  either,
  type Form,
  type FormsOf,
  FUNCTION,
  fields,
  listOf,
  oneOf,
  TEXT,
} from '../core/option-forms.ts'
import type { Observed } from '../engine/decision-event.ts'
import type { Payer } from '../engine/payer.ts'
import type { MaybePromise } from '../engine/ports.ts'
import { OBSERVED_FORMS, STORE_FORMS } from '../stores/open/store-forms.ts'
import type { StoreOptions } from '../stores/open/store-options.ts'
import type { RulesCode } from './charge-planner.ts'
import type { ShedCode } from './gate-shedder.ts'
import type { Cost } from './given-cost.ts'
import { IDENTITY_FORMS, type IdentityOptions } from './identity-options.ts'
import { type By, type LimitSpec, SPEC_FORMS, SPEC_OPTIONS } from './limit-spec.ts'
import type { PriorityHeaderOptions } from './priority-header.ts'
import type { Routing } from './request-path.ts'
import { hasCode, type RuleOptions } from './rule-options.ts'
import { rulesCode } from './rules-code.ts'
import { shedCode } from './shed-code.ts'
import type { ShedOptions, ShedPlace } from './shed-options.ts'
import { SpecRules } from './spec-rules.ts'

/** The options of every middleware. One limit, or `limits`, or `rules`. */
export interface GateOptions<R> extends Partial<LimitSpec<R>>, Partial<RuleOptions<R>>, StoreOptions, Observed {
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
   * function of the status decides, which gets undefined for a client that left before the answer: giving back then
   * means that clients that leave while handlers work have no limit. Default: never.
   */
  readonly refund?: 'failure' | 'success' | ((status: number | undefined, request: R) => boolean)
  /**
   * Sheds requests with 503 where not all can be served, test traffic first and critical requests never: true for what
   * this process can take, or how. In a bundle, `shed(…)` of `sluice/shed` with either. Default: nothing is shed.
   */
  readonly shed?: ShedOptions<R> | ShedPlace<R> | boolean
  /**
   * With `shed`: a field by which trusted callers say how much a request matters (`critical`, `write`, `read`, `test`),
   * before anything else that says so. Its name, or `name` and `from`, whose word counts. Default: there is none.
   */
  readonly priorityHeader?: PriorityHeaderOptions | string
  /** Which fields are sent. Default: the current ones, the legacy ones and Retry-After. */
  readonly headers?: FieldSettings | boolean
  /** Called with errors inside the limiter; requests continue as `onStoreFailure` says. Default: a process warning. */
  readonly onError?: (error: unknown) => void
  /**
   * Pays for what rules with a meter admit: `ledger(…)` of `sluice/ledger`. Default: such rules refuse with 503.
   */
  readonly ledger?: Payer
}

/** Returns the names of the options about where counters live. */
export const STORE_OPTIONS = Object.keys(STORE_FORMS) as readonly (keyof StoreOptions)[]
const ROUTING_FORMS: FormsOf<Routing> = { caseSensitive: BOOLEAN, strict: BOOLEAN }
const FALSE: Form = { expected: 'false', is: (value) => value === false }
const HEADER_FORMS: FormsOf<FieldSettings> = {
  standard: either(oneOf(...FIELD_FORMS), FALSE),
  legacy: BOOLEAN,
  retryAfter: BOOLEAN,
  fallback: BOOLEAN,
  random: FUNCTION,
}

const OBJECT: Form = { expected: 'an object', is: (value) => typeof value === 'object' && value !== null }

const PAYER_FORM: Form = {
  expected: 'what ledger(…) of sluice/ledger returns',
  is: (value) =>
    OBJECT.is(value) && FUNCTION.is((value as Partial<Payer>).pay) && FUNCTION.is((value as Partial<Payer>).commit),
}

/** The forms of GateOptions. What `identity`, rules and `shed` are, is checked where they are read. */
export const GATE_FORMS: FormsOf<GateOptions<never>> = {
  ...SPEC_FORMS,
  ...STORE_FORMS,
  limits: { ...listOf(fields(SPEC_FORMS)), is: Array.isArray },
  rules: { expected: 'a path, YAML or objects', is: (value) => TEXT.is(value) || typeof value === 'object' },
  domain: TEXT,
  descriptors: FUNCTION,
  routing: fields(ROUTING_FORMS),
  onRulesRefused: FUNCTION,
  identity: fields(IDENTITY_FORMS),
  skip: FUNCTION,
  refund: either(oneOf('failure', 'success'), FUNCTION),
  shed: either(BOOLEAN, OBJECT),
  priorityHeader: either({ ...TEXT, expected: 'the name of a field' }, OBJECT),
  headers: either(BOOLEAN, fields(HEADER_FORMS)),
  onError: FUNCTION,
  ledger: PAYER_FORM,
  ...OBSERVED_FORMS,
}

export function hasRules<R>(options: GateOptions<R>): options is GateOptions<R> & RuleOptions<R> {
  return options.rules !== undefined
}

/** Returns the limits that options have. Given among a middleware's options, a limit's cost is the middleware's. */
export function limitsOf<R>(options: GateOptions<R>): readonly LimitSpec<R>[] {
  return (options.limits ?? [options as LimitSpec<R>]).map((spec) => {
    const entries = [...COUNTING_OPTIONS, ...SPEC_OPTIONS].map((name) => [name, spec[name]] as const)
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as unknown as LimitSpec<R>
  })
}

/** Refuses options that there are not, wrong values, and options that would have no effect. */
export function checkGateOptions<R>(options: GateOptions<R>): void {
  checkOptions(options, GATE_FORMS)
  checkFamily(options)
  checkIdentity(options)
  checkShed(options)
  if (options.priorityHeader !== undefined && sheddingOf(options) === undefined) throw needs('priorityHeader', 'shed')
}

/** Returns the code that plans by rules, which may come with them. */
export function rulesCodeOf(rules: RuleOptions<never>['rules']): RulesCode {
  return hasCode(rules) ? (rules.code as RulesCode) : rulesCode()
}

/** Returns how requests are shed, with the code for it; undefined where none is. */
export function sheddingOf<R>({ shed = false }: GateOptions<R>): Shedding<R> | undefined {
  if (shed === false) return undefined
  if (shed !== true && 'code' in shed) return shed as Shedding<R>
  return { options: shed, code: shedCode() }
}

interface Shedding<R> extends ShedPlace<R> {
  readonly code: ShedCode
}

function checkShed<R>(options: GateOptions<R>): void {
  const shedding = sheddingOf(options)
  shedding?.code.check(shedding.options, options.priorityHeader)
}

/** Checks the options of a part of an app, before there is a gate: who is calling, others may say. */
export function checkOwnOptions<R>(options: GateOptions<R>): void {
  checkOptions(options, GATE_FORMS)
  checkFamily(options)
  checkShed(options)
  if (options.rules === undefined) checkSpecs(limitsOf(options))
}

function checkSpecs<R>(specs: readonly LimitSpec<R>[]): void {
  for (const [i, spec] of specs.entries()) new SpecRules(spec, specs.length === 1 ? '' : `limits[${i}].`)
}

/** Rejects limits by a part of the caller that no option provides. */
function checkIdentity<R>(options: GateOptions<R>): void {
  const { identity = {} } = options
  if (identity.claims !== undefined && identity.jwt === undefined) throw needs('identity.claims', 'identity.jwt')
  for (const [i, { limit, by }] of (options.limits ?? [options]).entries()) {
    const at = options.limits === undefined ? '' : `limits[${i}].`
    if (isTiers(limit) && !isConfigured(identity, 'tier')) throw needs(`${at}limit by tier`, requirementOf('tier'))
    const lost = typeof by === 'function' ? undefined : [by ?? []].flat().find((each) => !isConfigured(identity, each))
    if (lost !== undefined) throw needs(`${at}by: '${lost}'`, requirementOf(lost))
  }
}

/** Refuses a mixture of limit, limits and rules, and what belongs to one of them without it. */
function checkFamily<R>(options: GateOptions<R>): void {
  const given = (['limit', 'limits', 'rules'] as const).filter((option) => options[option] !== undefined)
  if (given.length !== 1) {
    const detail =
      given.length === 0 ? 'none of limit, limits and rules is given' : `${given.join(' and ')} cannot be combined`
    throw new SluiceError('GATE_OPTIONS_INVALID', 'options', detail)
  }
  if (options.limits?.length === 0) throw new SluiceError('GATE_OPTIONS_INVALID', 'limits', 'the list is empty')
  if (options.limit === undefined) {
    const lost = [...COUNTING_OPTIONS, ...SPEC_OPTIONS].find((name) => name !== 'cost' && options[name] !== undefined)
    if (lost !== undefined) {
      const detail = `it belongs to a limit; put it into ${options.rules === undefined ? 'limits' : 'the rules'}`
      throw new SluiceError('GATE_OPTIONS_INVALID', lost, detail)
    }
  }
  const ofRules = (['domain', 'descriptors', 'routing', 'onRulesRefused', 'ledger'] as const).find(
    (name) => options[name],
  )
  if (options.rules === undefined && ofRules !== undefined) throw needs(ofRules, 'rules')
}

/** Whether options provide a part of the caller: without it, all callers would be counted by address. */
function isConfigured<R>({ apiKey, jwt, claims, ...by }: IdentityOptions<R>, kind: By | 'tier'): boolean {
  if (kind === 'ip' || kind === 'everyone') return true
  if (kind === 'api_key') return apiKey !== undefined && apiKey !== false
  return by[kind] !== undefined || (jwt !== undefined && (kind === 'user' || claims?.[kind] !== undefined))
}

/** Returns whether an amount is by tier. One without any is refused elsewhere. */
function isTiers(limit: unknown): boolean {
  return typeof limit === 'object' && limit !== null && Object.keys(limit).length > 0
}

function requirementOf(kind: By | 'tier'): string {
  if (kind === 'api_key') return 'identity.apiKey'
  return `identity.${kind}, or ${kind === 'user' ? 'identity.jwt' : `identity.jwt and identity.claims.${kind}`}`
}

function needs(what: string, needed: string): SluiceError {
  return new SluiceError('GATE_OPTIONS_INVALID', what, `requires ${needed}`)
}

/** Completes `headers`: false still sends Retry-After. */
export function fieldSettings(headers: FieldSettings | boolean): FieldSettings {
  if (headers === false) return { random: Math.random, standard: false, legacy: false }
  return { random: Math.random, ...(headers === true ? {} : headers) }
}
