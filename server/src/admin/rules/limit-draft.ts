import type { Value } from 'sluice/internal/core/schema/schema'
import {
  named,
  needed,
  orNull as nullable,
  object,
  optional,
  text,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import { orNull, unknownRecord } from '../api/values.ts'
import { changeLimit, findLimits } from './limit-text.ts'

const FIELDS = {
  requests: nullable(WORDS, 'null: it is not in the text'),
  unit: nullable(WORDS),
  window: nullable(WORDS),
  burst: nullable(WORDS),
  shadow: needed(YES_OR_NO),
} as const

const FIGURE = text(32)

export const LIMIT_CHANGE = named(
  'LimitChange',
  object({
    text: needed(text(1_048_576), 'rules as YAML'),
    domain: needed(text(256)),
    id: needed(text(4_096), 'of the rule'),
    tier: optional(text(64), 'the tier whose limit it is'),
    change: optional(
      object({
        requests: optional(FIGURE),
        unit: optional(FIGURE),
        window: optional(FIGURE),
        burst: optional(FIGURE),
        shadow: needed(YES_OR_NO),
      }),
      'what the limit is to say; what is null is taken away',
    ),
  }),
)

export const DRAFT = named(
  'LimitDraft',
  object({
    line: needed(WHOLE, 'where the limit stands'),
    says: needed(object(FIELDS)),
    has_calendar: needed(YES_OR_NO),
    is_bucket: needed(YES_OR_NO),
    is_unlimited: needed(YES_OR_NO),
    has_shadow: needed(YES_OR_NO, 'whether shadow mode can be said here'),
    text: needed(WORDS, 'the rules, with the change'),
  }),
)

/** draftOf finds one limit in a text, and changes it there. Everything else in the text stays as it is. */
export function draftOf({ text: rules, domain, id, tier, change }: Value<typeof LIMIT_CHANGE>) {
  const place = findLimits(rules).find(
    (each) => each.domain === domain && each.id === id && each.tier === (tier ?? null),
  )
  if (place === undefined) throw unknownRecord('limit', id)
  const { line, says, hasCalendar, isBucket, isUnlimited, descriptor } = place
  const { requests, unit, window, burst, shadow } = change ?? says
  const to = {
    requests: requests ?? undefined,
    unit: unit ?? undefined,
    window: window ?? undefined,
    burst: burst ?? undefined,
    shadow,
  }
  return {
    line,
    says: {
      requests: orNull(says.requests),
      unit: orNull(says.unit),
      window: orNull(says.window),
      burst: orNull(says.burst),
      shadow: says.shadow,
    },
    has_calendar: hasCalendar,
    is_bucket: isBucket,
    is_unlimited: isUnlimited,
    has_shadow: descriptor !== undefined,
    text: changeLimit(rules, place, to),
  }
}
