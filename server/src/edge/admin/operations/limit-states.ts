import type { LimitState } from '../../../quotas/ports.ts'
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
} from '../../../records/forms.ts'
import { orNull, timeText } from '../api/values.ts'

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
    descriptor: needed(WORDS),
    domain: needed(WORDS),
    rule_id: needed(WORDS),
    source: needed(SOURCE, 'where the number comes from'),
    limit: needed(WHOLE),
    used: needed(WHOLE),
    remaining: needed(WHOLE),
    window_ms: needed(NUMBER),
    unit: nullable(WORDS),
    window_start: needed(TIME),
    resets_at: needed(TIME),
    api_key_id: nullable(WORDS, 'of which key it is; null: of the customer'),
    api_key_prefix: nullable(WORDS),
    is_use_known: needed(
      YES_OR_NO,
      'false: no request has carried this key since the node began, and what was used is not known',
    ),
  }),
)

export const LIMIT_STATES = named('LimitStates', object({ limits: needed(list(LIMIT_STATE)) }))

export function limitJson(state: LimitState) {
  const { descriptor, domain, ruleId, source, limit, used, remaining, windowMs, unit, windowStartMs, resetAtMs } = state
  return {
    descriptor,
    domain,
    rule_id: ruleId,
    source: { kind: source.kind, id: orNull(source.id) },
    limit,
    used,
    remaining,
    window_ms: windowMs,
    unit: orNull(unit),
    window_start: timeText(windowStartMs),
    resets_at: timeText(resetAtMs),
    api_key_id: orNull(state.keyId),
    api_key_prefix: orNull(state.keyPrefix),
    is_use_known: state.isUseKnown ?? true,
  }
}

/** usageJson spells what was used of limits, by descriptor. The window is that of `default`, or of the first. */
export function usageJson(limits: readonly LimitState[]) {
  const first = limits.find(({ descriptor }) => descriptor === 'default') ?? limits[0]
  return {
    current_window:
      first === undefined ? null : { start: timeText(first.windowStartMs), end: timeText(first.resetAtMs) },
    usage: Object.fromEntries(
      limits.map(({ descriptor, used, limit, remaining }) => [descriptor, { used, limit, remaining }]),
    ),
  }
}
