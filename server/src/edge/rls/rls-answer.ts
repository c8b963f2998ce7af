import { type Decision, isTighter, type RuleVerdict } from 'sluice/internal/core/combine'
import type { Verdict } from 'sluice/internal/core/decision'
import { LEDGER_FIELD, type LedgerNote } from 'sluice/internal/core/ledger-note'
import { MAX_COUNT } from 'sluice/internal/core/limit'
import type { Entry } from 'sluice/internal/core/request'
import { headlineOf, windowSeconds } from './reference-answer.ts'
import type { HeaderNames, RlsOptions } from './rls-options.ts'
import type { RlsDescriptor, RlsRequest } from './rls-request.ts'
import { OK, OVER_LIMIT, type Status } from './rls-status.ts'
import type { Header, RuleForm, RuleForms } from './rule-forms.ts'

export { OK, OVER_LIMIT, type Status } from './rls-status.ts'

/** What headers show of a limit. */
export interface Headline {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
}

/**
 * Folds a decision into what the rate limit service answers: a status for each descriptor, in order, and one code for
 * all of them. One instance folds one decision after the other; what it holds is good until the next.
 */
export class RlsAnswer {
  overallCode: typeof OK | typeof OVER_LIMIT = OK
  /** SHADOW_MODE let pass what was refused. */
  isShadowed = false
  /** How many of `statuses` are of this answer. */
  size = 0
  readonly statuses: Status[] = []
  /** The verdict that the headers describe. */
  tightest: RuleVerdict | undefined = undefined
  /** The rule whose response a refused caller gets. */
  refusedBy: RuleForm | undefined = undefined
  /** What the ledger says, where a rule names a meter. */
  ledger: LedgerNote | undefined = undefined
  readonly #forms: RuleForms
  #isReference = false

  constructor(forms: RuleForms) {
    this.#forms = forms
  }

  fold(request: RlsRequest, decision: Decision, options: RlsOptions): void {
    const { shadowMode = false, asReference = false, nowMs = Date.now } = options
    const { allowed, tightest, verdicts } = decision
    const { descriptors } = request
    this.isShadowed = shadowMode && !allowed
    this.overallCode = allowed || shadowMode ? OK : OVER_LIMIT
    this.#reset(descriptors.length)
    for (let i = 0; i < verdicts.length; i++) {
      const { descriptor, rule } = verdicts[i]
      applyVerdict(this.statuses[descriptor], verdicts[i], this.#forms.of(rule))
    }
    this.#isReference = asReference
    if (asReference) this.#asReference(nowMs())
    this.tightest = tightest
    this.ledger = decision.ledger ?? tightest?.verdict.ledger
    this.refusedBy = this.overallCode === OVER_LIMIT && tightest ? this.#forms.of(tightest.rule) : undefined
  }

  /** Returns the limit that headers describe, if there is one. */
  headline(): Headline | undefined {
    if (this.#isReference) {
      const status = headlineOf(this.statuses, this.size)
      return status && { ...status, limit: status.binding?.rule.limit.max ?? 0 }
    }
    const verdict = this.tightest?.verdict
    return verdict && { ...verdict, resetSeconds: resetSeconds(verdict) }
  }

  /** Hides what a refusal leaves, and gives all rules of a window the end of that window. */
  #asReference(nowMs: number): void {
    for (let i = 0; i < this.size; i++) {
      const status = this.statuses[i]
      if (status.binding === undefined) continue
      const { rule, verdict } = status.binding
      if (!verdict.allowed) status.remaining = 0
      status.resetSeconds = windowSeconds(rule.limit, nowMs) ?? status.resetSeconds
    }
  }

  #reset(size: number): void {
    this.size = size
    while (this.statuses.length < size) {
      this.statuses.push({ code: OK, binding: undefined, form: undefined, remaining: 0, resetSeconds: 0 })
    }
    for (let i = 0; i < size; i++) {
      const status = this.statuses[i]
      status.code = OK
      status.binding = undefined
      status.form = undefined
      status.remaining = 0
    }
  }
}

/** Makes a verdict the one reported for its descriptor, if it is tighter than the one so far. */
function applyVerdict(status: Status, candidate: RuleVerdict, form: RuleForm): void {
  const { rule, verdict } = candidate
  if (rule.unlimited) {
    if (status.binding === undefined) status.remaining = MAX_COUNT
    return
  }
  if (!verdict.allowed && !rule.shadow) status.code = OVER_LIMIT
  if (status.binding !== undefined && !binds(candidate, status.binding)) return
  status.binding = candidate
  status.form = form
  status.remaining = verdict.remaining
  status.resetSeconds = resetSeconds(verdict)
}

function binds(a: RuleVerdict, b: RuleVerdict): boolean {
  return a.rule.shadow === b.rule.shadow ? isTighter(a.verdict, b.verdict) : b.rule.shadow
}

/** Returns when there is more, in whole seconds, rounded up: Envoy cuts off what is not whole. */
export function resetSeconds(verdict: Verdict): number {
  return Math.ceil((verdict.kind === 'refused' ? verdict.retryAfterMs : verdict.resetAfterMs) / 1000) | 0
}

/** Returns the headers about the tightest limit, under the configured names. */
export function limitHeaders(answer: RlsAnswer, names: HeaderNames | undefined): readonly Header[] {
  const headline = names && answer.headline()
  if (headline === undefined || names === undefined) return []
  return [
    { key: names.limit, value: String(headline.limit) },
    { key: names.remaining, value: String(headline.remaining) },
    { key: names.reset, value: String(headline.resetSeconds) },
  ]
}

const NO_HEADERS: readonly Header[] = []

/** Returns the headers by which an answer says who paid, or what ran out. */
export function ledgerHeaders({ ledger, tightest }: RlsAnswer): readonly Header[] {
  if (ledger === undefined) return NO_HEADERS
  const own = { key: LEDGER_FIELD.toLowerCase(), value: ledger.field }
  return tightest?.verdict.ledger === undefined ? [own] : [own, { key: 'content-type', value: 'application/json' }]
}

/** Returns the body of a refusal by the ledger. */
export function ledgerBody({ tightest }: RlsAnswer): Buffer | undefined {
  const refusal = tightest?.verdict.ledger
  if (refusal === undefined) return undefined
  const { code, reason, json } = refusal
  return Buffer.from(JSON.stringify({ error: { code, message: reason, ledger: json } }))
}

/** What google.protobuf.Struct can hold. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/**
 * Sends Envoy's other filters what was asked, in the form of envoyproxy/ratelimit: the domain, the descriptors, and
 * under `metadata` that of all rules that admit the request, the first to name a key winning. Filters log and forward
 * it: values of secret keys are shown as elsewhere. For a blocked caller it contains the block and its reason.
 */
export function dynamicMetadata(
  request: RlsRequest,
  answer: RlsAnswer,
  { shownValue = asItIs }: RlsOptions,
): { readonly [key: string]: JsonValue } {
  const { domain } = request
  const merged = new Map<string, unknown>()
  for (let i = 0; i < answer.size; i++) {
    const { code, binding } = answer.statuses[i]
    const own = code === OK ? binding?.rule.path.at(-1)?.metadata : undefined
    if (own !== undefined) merge(merged, own)
  }
  return {
    domain,
    descriptors: request.descriptors.map((each) => descriptorValue(each, (entry) => shownValue(domain, entry))),
    ...(request.hitsAddend !== 0 && { hitsAddend: request.hitsAddend }),
    ...(merged.size > 0 && { metadata: structValue(merged) }),
    ...(answer.tightest?.verdict.shed !== undefined && { shed: answer.tightest.verdict.shed }),
    ...(answer.tightest?.verdict.block !== undefined && { block: { ...answer.tightest.verdict.block } }),
  }
}

function asItIs(_domain: string, { value }: Entry): string {
  return value
}

function descriptorValue({ entries, limit, hitsAddend }: RlsDescriptor, shown: (entry: Entry) => string): JsonValue {
  return {
    entries: entries.map((entry) => `${entry.key}=${shown(entry)}`),
    ...(limit !== undefined && {
      limit: `${limit.requestsPerUnit === 0 ? '' : `requests_per_unit:${limit.requestsPerUnit} `}unit:${limit.unit.toUpperCase()}`,
    }),
    ...(hitsAddend !== undefined && { hitsAddend }),
  }
}

/** Adds what is not there yet, level by level. Maps, because a rule may name a key `__proto__`. */
function merge(into: Map<string, unknown>, from: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(from)) {
    const there = into.get(key)
    if (there instanceof Map) {
      if (isObject(value)) merge(there, value)
    } else if (!into.has(key)) into.set(key, isObject(value) ? mapOf(value) : value)
  }
}

function mapOf(object: Readonly<Record<string, unknown>>): Map<string, unknown> {
  const map = new Map<string, unknown>()
  merge(map, object)
  return map
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Turns what YAML gave into what a Struct can hold. */
function structValue(value: unknown): JsonValue {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [key, structValue(each)]))
  if (Array.isArray(value)) return value.map(structValue)
  if (isObject(value)) return structValue(mapOf(value))
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  return String(value)
}
