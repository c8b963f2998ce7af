import { list, named, needed, object, WHOLE, WORDS, YES_OR_NO } from '../../records/forms.ts'
import { operation } from '../api/operation.ts'
import { FLEET, fleetJson, SCOPE } from '../fleet/fleet-forms.ts'
import { ACTIVITY, type ActivityCounts, type RuleActivity } from './fleet-activity.ts'

const COUNTS = object({
  allowed: needed(WHOLE),
  refused: needed(WHOLE),
  shadow_refused: needed(WHOLE, 'what it would have refused, had it not been in shadow mode'),
})

const RULE_ACTIVITY = named(
  'RuleActivity',
  object({
    domain: needed(WORDS),
    id: needed(WORDS),
    is_shadow: needed(YES_OR_NO, 'it only reports now, by its rule or by a switch'),
    last_minute: needed(COUNTS),
    last_hour: needed(COUNTS),
  }),
)

function countsJson({ allowed, refused, shadowRefused }: ActivityCounts) {
  return { allowed, refused, shadow_refused: shadowRefused }
}

function activityJson({ domain, id, isShadow, lastMinute, lastHour }: RuleActivity) {
  return {
    domain,
    id,
    is_shadow: isShadow,
    last_minute: countsJson(lastMinute),
    last_hour: countsJson(lastHour),
  }
}

export const ACTIVITY_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'readRuleActivity',
    method: 'GET',
    path: '/rules/activity',
    tag: 'rules',
    role: 'viewer',
    summary: 'what every rule did that was asked about in the last hour, the busiest first',
    query: { scope: SCOPE },
    answer: {
      status: 200,
      schema: object({
        ...FLEET,
        rules_left_out: needed(WHOLE, 'rules that are not listed, because there are too many'),
        rules: needed(list(RULE_ACTIVITY)),
      }),
    },
    run: async ({ parts, query }) => {
      const found = await parts.get(ACTIVITY).list(query.scope ?? 'fleet')
      const rules = found.items.map(activityJson)
      return { body: { ...fleetJson(found), rules_left_out: found.rulesLeftOut, rules } }
    },
  }),
]
