import {
  list,
  NUMBER,
  named,
  needed,
  orNull as nullable,
  object,
  TIME,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import { orNull, timeText } from '../api/values.ts'

/** A LimitSource is where a number comes from. `id` is that of the override or grant, or the tier's name. */
export interface LimitSource {
  readonly kind: 'key_override' | 'customer_override' | 'tier' | 'rule' | 'grant'
  readonly id: string | undefined
}

/** A LimitState is one limit of a caller, and its counter now. */
export interface LimitState {
  /** `default`, or what stands below the caller's entry. */
  readonly descriptor: string
  /** What stands before the caller's entry; '' is nothing. */
  readonly above: string
  readonly domain: string
  readonly ruleId: string
  readonly ruleName: string
  /** It stands for values that are not known, each of which has a counter: nothing is known of their use. */
  readonly isPattern: boolean
  readonly source: LimitSource
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly windowMs: number
  readonly unit: string | undefined
  /** Of a window that follows the calendar: whose. */
  readonly timeZone: string | undefined
  readonly windowStartMs: number
  readonly resetAtMs: number
  /** Of which API key it is; undefined: of the customer. */
  readonly keyId?: string
  readonly keyPrefix?: string
  /**
   * False: no request has carried this API key since the node began, so that its counter cannot be named; or the store
   * is unavailable. Default: true.
   */
  readonly isUseKnown?: boolean
}

/** LimitStates are limits of callers, and how many descriptors more may have some: there are too many to look at. */
export interface LimitStates {
  readonly limits: readonly LimitState[]
  readonly omitted: number
}

export const SOURCE = named(
  'LimitSource',
  object({
    kind: needed({ kind: 'choice', of: ['key_override', 'customer_override', 'tier', 'rule', 'grant'] }),
    id: nullable(WORDS),
  }),
)

export const LIMIT_STATE = named(
  'LimitState',
  object({
    descriptor: needed(
      WORDS,
      "default, or what stands below the caller's entry: `endpoint:GET /`, or `endpoint` alone for any value of it",
    ),
    above: needed(WORDS, "what stands before the caller's entry; empty: nothing"),
    domain: needed(WORDS),
    rule_id: needed(WORDS),
    rule_name: needed(WORDS, 'as in response headers and in explanations'),
    is_pattern: needed(
      YES_OR_NO,
      'it stands for values that are not known; each has a counter, which is not looked at',
    ),
    source: needed(SOURCE, 'where the number comes from'),
    limit: needed(WHOLE),
    used: needed(WHOLE),
    remaining: needed(WHOLE),
    window_ms: needed(NUMBER),
    unit: nullable(WORDS),
    time_zone: nullable(WORDS, 'of a window that follows the calendar: the zone of its days'),
    window_start: needed(TIME),
    resets_at: needed(TIME),
    api_key_id: nullable(WORDS, 'of which key it is; null: of the customer'),
    api_key_prefix: nullable(WORDS),
    is_use_known: needed(
      YES_OR_NO,
      'false: what was used is not known. No request has carried this key since the node began, or values are not known',
    ),
  }),
)

export const LIMIT_STATES = named(
  'LimitStates',
  object({
    limits: needed(list(LIMIT_STATE)),
    omitted: needed(
      WHOLE,
      'descriptors that were not looked at, because there are more than 1,000: those that nodes remember come first',
    ),
  }),
)

export function limitsJson({ limits, omitted }: LimitStates) {
  return { limits: limits.map(limitJson), omitted }
}

function limitJson(state: LimitState) {
  const { descriptor, domain, ruleId, source, limit, used, remaining, windowMs, unit, windowStartMs, resetAtMs } = state
  return {
    descriptor,
    above: state.above,
    domain,
    rule_id: ruleId,
    rule_name: state.ruleName,
    is_pattern: state.isPattern,
    source: { kind: source.kind, id: orNull(source.id) },
    limit,
    used,
    remaining,
    window_ms: windowMs,
    unit: orNull(unit),
    time_zone: orNull(state.timeZone),
    window_start: timeText(windowStartMs),
    resets_at: timeText(resetAtMs),
    api_key_id: orNull(state.keyId),
    api_key_prefix: orNull(state.keyPrefix),
    is_use_known: state.isUseKnown ?? true,
  }
}

/** usageJson formats what was used of limits, by descriptor. The window is that of `default`, or of the first. */
export function usageJson(all: readonly LimitState[]) {
  const limits = all.filter(({ isPattern }) => !isPattern)
  const first = limits.find(({ descriptor }) => descriptor === 'default') ?? limits[0]
  return {
    current_window:
      first === undefined ? null : { start: timeText(first.windowStartMs), end: timeText(first.resetAtMs) },
    usage: Object.fromEntries(
      limits.map(({ descriptor, used, limit, remaining }) => [descriptor, { used, limit, remaining }]),
    ),
  }
}
