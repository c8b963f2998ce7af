import { plainName } from 'sluice/internal/core/http/structured-text'
import { holdsPermits, type Limit } from 'sluice/internal/core/limit'
import { UNIT_MS } from 'sluice/internal/core/rules/compile-rule'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import { bytesField, join, messageField, numberField, type ProtoField, textField } from '../../protobuf/writer.ts'
import type { RlsOptions } from './rls-options.ts'

/** A Header as HeaderValue: Envoy reads `value`, and ignores `raw_value` in older versions. */
export interface Header {
  readonly key: string
  readonly value: string
}

/** What answers contain about a rule, encoded once: rules do not change. */
export interface RuleForm {
  readonly unit: Unit
  /** How many units the window has; 1 is left out of answers. */
  readonly multiplier: number
  /** What the author called it. '' where it has no name but its path, as in envoyproxy/ratelimit. */
  readonly name: string
  /** DescriptorStatus.current_limit. */
  readonly currentLimit: ProtoField
  /** What a refused caller gets: a status, over HTTP, and headers and a body, if the rule has any. */
  readonly status: number
  readonly headers: readonly Header[]
  readonly body: Uint8Array | undefined
  /** RateLimitResponse.response_headers_to_add and raw_body of a refusal. */
  readonly refusal: ProtoField
}

export type Unit = keyof typeof UNIT_NUMBERS

/** RateLimitResponse.RateLimit.Unit. */
const UNIT_NUMBERS = { UNKNOWN: 0, SECOND: 1, MINUTE: 2, HOUR: 3, DAY: 4, MONTH: 5, YEAR: 6, WEEK: 7 } as const

const UNIT_OF_MS: ReadonlyMap<number, Unit> = new Map(
  Object.entries(UNIT_MS).map(([name, ms]) => [ms, name.toUpperCase() as Unit]),
)

/** Keeps the forms of rules for as long as the rules themselves are kept. */
export class RuleForms {
  readonly #forms = new WeakMap<Rule, RuleForm>()
  readonly #windowOf: (limit: Limit) => Window

  constructor({ unitMultipliers = false }: RlsOptions = {}) {
    this.#windowOf = unitMultipliers ? multipleOf : unitOf
  }

  of(rule: Rule): RuleForm {
    const known = this.#forms.get(rule)
    if (known !== undefined) return known
    const form = formOf(rule, this.#windowOf(rule.limit))
    this.#forms.set(rule, form)
    return form
  }
}

function formOf(rule: Rule, { unit, multiplier }: Window): RuleForm {
  const name = rule.isNamed ? plainName(rule.name) : ''
  const { headers, body } = refusalOf(rule)
  return {
    unit,
    multiplier,
    name,
    currentLimit: messageField(
      2,
      numberField(1, rule.limit.max),
      numberField(2, UNIT_NUMBERS[unit]),
      textField(3, name),
      ...(multiplier === 1 ? [] : [messageField(4, numberField(1, multiplier))]),
    ),
    status: rule.response?.status ?? 429,
    headers,
    body,
    refusal: join([...headers.map((header) => headerField(3, header)), ...(body ? [bytesField(5, body)] : [])]),
  }
}

interface Window {
  readonly unit: Unit
  readonly multiplier: number
}

const NO_UNIT: Window = { unit: 'UNKNOWN', multiplier: 1 }

/**
 * Returns the unit of a window. A window without one (90s) has the unit UNKNOWN: Envoy then omits it from
 * X-RateLimit-Limit, where any other unit would make it report a wrong window.
 */
export function unitOf(limit: Limit): Window {
  if (holdsPermits(limit)) return NO_UNIT
  const { calendar, windowMs } = limit
  const unit = calendar === undefined ? UNIT_OF_MS.get(windowMs) : (calendar.unit.toUpperCase() as Unit)
  return unit === undefined ? NO_UNIT : { unit, multiplier: 1 }
}

/** Returns a window as a multiple of the longest unit that divides it. Fractions of a second have none. */
function multipleOf(limit: Limit): Window {
  const { windowMs } = limit
  if (holdsPermits(limit) || limit.calendar !== undefined) return unitOf(limit)
  const [ms, unit] = [...UNIT_OF_MS].reverse().find(([each]) => windowMs % each === 0) ?? [windowMs, NO_UNIT.unit]
  return { unit, multiplier: windowMs / ms }
}

function refusalOf({ response }: Rule): { headers: readonly Header[]; body: Uint8Array | undefined } {
  if (response === undefined) return { headers: [], body: undefined }
  const headers = response.headers.map(([key, value]) => ({ key, value }))
  if (response.body === undefined) return { headers, body: undefined }
  const hasType = headers.some(({ key }) => key.toLowerCase() === 'content-type')
  const type = { key: 'content-type', value: isJson(response.body) ? 'application/json' : 'text/plain; charset=utf-8' }
  return { headers: hasType ? headers : [type, ...headers], body: Buffer.from(response.body) }
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/** Encodes a HeaderValue. */
export function headerField(number: number, { key, value }: Header): ProtoField {
  return messageField(number, textField(1, key), textField(2, value))
}
