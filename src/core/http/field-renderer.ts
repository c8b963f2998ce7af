import { type Decision, isTighter, type RuleVerdict } from '../combine.ts'
import type { Verdict } from '../decision.ts'
import { LEDGER_FIELD } from '../ledger-note.ts'
import { holdsPermits, isOnce } from '../limit.ts'
import type { Rule } from '../rules/rule-set.ts'
import { FALLBACK_FIELD, fallbackValue } from './fallback-field.ts'
import { FieldList } from './field-list.ts'
import { retryAfterSeconds } from './retry-after.ts'
import { plainName } from './structured-text.ts'

/** The forms that RateLimit and RateLimit-Policy have had. `current` is that of draft-ietf-httpapi-ratelimit-headers-11. */
export const FIELD_FORMS = ['current', 'draft-6', 'draft-7', 'draft-8'] as const

export type FieldForm = (typeof FIELD_FORMS)[number]

export interface FieldSettings {
  /** Which form of RateLimit and RateLimit-Policy. Default: `current`. */
  readonly standard?: FieldForm | false
  /** X-RateLimit-Limit, -Remaining and -Reset. Default: true. */
  readonly legacy?: boolean
  /** Retry-After on a refusal. Default: true. */
  readonly retryAfter?: boolean
  /**
   * Sluice-Fallback, where rules decided without the store. Default: false, because it shows strangers when limits are
   * weaker than they should be.
   */
  readonly fallback?: boolean
  /** From 0 up to 1, for rules with `retry_after_jitter`. Default: no jitter. */
  readonly random?: () => number
}

/**
 * Renders decisions as fields. Lists the policies that applied, the tightest first, without shadow rules, which concern
 * only the operator, and rules without a limit.
 */
export class FieldRenderer {
  readonly #standard: FieldForm | false
  readonly #legacy: boolean
  readonly #retryAfter: boolean
  readonly #fallback: boolean
  readonly #random: () => number
  readonly #fields = new FieldList()
  readonly #applied: RuleVerdict[] = []
  #rule: Rule | undefined
  #rendered: RenderedName | undefined
  #refused: Decision | undefined
  #retryAfterSeconds: number | undefined

  constructor(settings: FieldSettings = {}) {
    this.#standard = settings.standard ?? 'current'
    this.#legacy = settings.legacy ?? true
    this.#retryAfter = settings.retryAfter ?? true
    this.#fallback = settings.fallback ?? false
    this.#random = settings.random ?? (() => 0)
  }

  /** Returns the fields of a decision, in a list that the next call fills again. `partitionKey` is base64. */
  render(decision: Decision, nowMs: number, partitionKey?: string): FieldList {
    const fields = this.#fields
    fields.clear()
    const { tightest } = decision
    if (tightest !== undefined && hasBudget(tightest.verdict)) this.#addBudget(decision, tightest, nowMs, partitionKey)
    const ledger = decision.ledger ?? tightest?.verdict.ledger
    if (ledger !== undefined) fields.add(LEDGER_FIELD, ledger.field)
    if (this.#fallback) this.#addFallback(decision)
    if (decision.retryAfterMs === undefined) return fields
    // What is rendered twice, for the fields and for the body, says the same: the jitter is drawn once.
    if (this.#refused !== decision) {
      this.#refused = decision
      this.#retryAfterSeconds = retryAfterSeconds(decision, this.#random)
    }
    fields.retryAfterSeconds = this.#retryAfterSeconds
    if (this.#retryAfter) fields.add('Retry-After', String(fields.retryAfterSeconds))
    return fields
  }

  #addFallback({ verdicts }: Decision): void {
    const value = fallbackValue(verdicts)
    if (value !== undefined) this.#fields.add(FALLBACK_FIELD, value)
  }

  #addBudget(decision: Decision, tightest: RuleVerdict, nowMs: number, partitionKey: string | undefined): void {
    const fields = this.#fields
    const remaining = String(tightest.verdict.remaining)
    if (this.#standard === 'current') this.#addCurrent(decision, tightest, remaining)
    else if (this.#standard !== false) this.#addDraft(this.#standard, decision, tightest, partitionKey)
    if (this.#legacy) {
      fields.add('X-RateLimit-Limit', String(tightest.verdict.limit))
      fields.add('X-RateLimit-Remaining', remaining)
      fields.add('X-RateLimit-Reset', String(Math.ceil((nowMs + untilMoreMs(tightest)) / 1000)))
    }
  }

  #addCurrent(decision: Decision, tightest: RuleVerdict, remaining: string): void {
    const { name, policy } = this.#nameOf(tightest.rule)
    let policies = policy
    let budgets = `${name};r=${remaining};t=${secondsUntilMore(tightest)}`
    if (decision.verdicts.length > 1) {
      const applied = listed(decision.verdicts, tightest, this.#applied)
      for (let i = 1; i < applied.length; i++) {
        policies += `, ${renderedNameOf(applied[i].rule).policy}`
        budgets += `, ${budgetOf(applied[i])}`
      }
    }
    this.#fields.add('RateLimit-Policy', policies)
    this.#fields.add('RateLimit', budgets)
  }

  /** Remembers the latest rule: most often there is only one. */
  #nameOf(rule: Rule): RenderedName {
    if (this.#rule !== rule || this.#rendered === undefined) {
      this.#rule = rule
      this.#rendered = renderedNameOf(rule)
    }
    return this.#rendered
  }

  /** Renders the forms of older drafts, as express-rate-limit writes them. */
  #addDraft(draft: FieldForm, decision: Decision, tightest: RuleVerdict, partitionKey: string | undefined): void {
    const fields = this.#fields
    const applied = [...listed(decision.verdicts, tightest, this.#applied)]
    const { limit, remaining } = tightest.verdict
    const reset = secondsUntilMore(tightest)
    if (draft === 'draft-8') {
      const key = partitionKey === undefined ? '' : `; pk=:${partitionKey}:`
      fields.add('RateLimit', applied.map((each) => budgetOf(each, '; ')).join(', '))
      fields.add('RateLimit-Policy', applied.map(({ rule }) => policyOf(rule, '; ') + key).join(', '))
      return
    }
    fields.add('RateLimit-Policy', applied.map(({ rule }) => oldPolicyOf(rule)).join(', '))
    if (draft === 'draft-7') {
      fields.add('RateLimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`)
      return
    }
    fields.add('RateLimit-Limit', String(limit))
    fields.add('RateLimit-Remaining', String(remaining))
    fields.add('RateLimit-Reset', String(reset))
  }
}

/** Whether a limit decided: of a caller that is blocked or shed, or that no one pays for, there is no budget to report. */
const hasBudget = ({ block, shed, ledger }: Verdict): boolean =>
  block === undefined && shed === undefined && ledger === undefined

/** Clients and proxies refuse answers with long fields: nginx above 4 KiB in all, Node.js above 16. */
const MAX_FIELD_CHARACTERS = 1_600
/** Parameters and separator of a member, at their longest: `;q=4294967295;qu="concurrent-requests", `. */
const MAX_PARAMETER_CHARACTERS = 40

/**
 * Fills `applied` with one verdict for each name, its tightest: a name that stands twice in a field is ambiguous. What
 * would make the field too long is left out; some forty rules with short names fit.
 */
function listed(
  verdicts: readonly RuleVerdict[],
  tightest: RuleVerdict,
  applied: RuleVerdict[],
): readonly RuleVerdict[] {
  applied.length = 0
  applied.push(tightest)
  if (verdicts.length === 1) return applied
  let room = MAX_FIELD_CHARACTERS - charactersOf(tightest)
  for (const each of verdicts) {
    if (each === tightest || each.rule.shadow || each.rule.unlimited || each.verdict.unasked === true) continue
    const { name } = renderedNameOf(each.rule)
    const seen = applied.findIndex(({ rule }) => renderedNameOf(rule).name === name)
    if (seen > 0 && isTighter(each.verdict, applied[seen].verdict)) applied[seen] = each
    if (seen >= 0 || room < charactersOf(each)) continue
    room -= charactersOf(each)
    applied.push(each)
  }
  return applied
}

/** Returns how long a rule's member of a field may become. */
function charactersOf({ rule }: RuleVerdict): number {
  return renderedNameOf(rule).name.length + MAX_PARAMETER_CHARACTERS
}

/** What a rule is called in fields: its name in quotes, and its member of RateLimit-Policy. */
interface RenderedName {
  readonly name: string
  readonly policy: string
}

/** Rules are frozen, and a policy is the same in every response. */
const renderedNames = new WeakMap<Rule, RenderedName>()

function renderedNameOf(rule: Rule): RenderedName {
  const known = renderedNames.get(rule)
  if (known !== undefined) return known
  const rendered = { name: `"${plainName(rule.name)}"`, policy: policyOf(rule, ';') }
  renderedNames.set(rule, rendered)
  return rendered
}

/** Formats a rule as a member of RateLimit-Policy: `"name";q=100;w=60`. */
function policyOf(rule: Rule, separator: string): string {
  const { max: limit, calendar, windowMs } = rule.limit
  const member = `"${plainName(rule.name)}"${separator}q=${limit}`
  if (holdsPermits(rule.limit)) return `${member}${separator}qu="concurrent-requests"`
  // A calendar's windows differ in length, a grant has none, and the parameter is optional.
  return calendar || isOnce(rule.limit) ? member : `${member}${separator}w=${wholeSeconds(windowMs)}`
}

/** Formats a rule as in drafts 6 and 7: `100;w=60`. */
function oldPolicyOf({ limit: { max: limit, windowMs } }: Rule): string {
  return `${limit};w=${wholeSeconds(windowMs)}`
}

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

/** Formats a verdict as a member of RateLimit: `"name";r=47;t=42`, t being when more budget is available. */
function budgetOf(each: RuleVerdict, separator = ';'): string {
  return `${renderedNameOf(each.rule).name}${separator}r=${each.verdict.remaining}${separator}t=${secondsUntilMore(each)}`
}

function secondsUntilMore(each: RuleVerdict): number {
  return Math.ceil(untilMoreMs(each) / 1000)
}

/** Returns when a refused caller may retry; for any other caller, the time until the reset. */
function untilMoreMs({ verdict }: RuleVerdict): number {
  return verdict.kind === 'refused' ? verdict.retryAfterMs : verdict.resetAfterMs
}
