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
import { operation } from '../api/operation.ts'
import { RULES } from '../api/parts.ts'
import { orNull, timeText } from '../api/values.ts'
import { FLEET, fleetJson } from '../fleet/fleet-forms.ts'
import { ruleNames } from '../rules/rule-names.ts'
import { TOP, type TopKey } from './fleet-top.ts'

const RANKING = { kind: 'choice', of: ['refused', 'used'] } as const
const TOP_PERIOD = { kind: 'choice', of: ['5m', '1h', '24h'] } as const
const MAX_TOP = 50

const TOP_KEY = named(
  'TopKey',
  object({
    domain: needed(WORDS),
    rule: needed(WORDS, 'its id'),
    rule_name: needed(WORDS, 'as in response headers and in explanations'),
    key: needed(WORDS, 'whom it is about; secrets are hashed'),
    customer_id: nullable(WORDS, 'where it is known whose the key is'),
    api_key_id: nullable(WORDS),
    count: needed(WHOLE, 'at least'),
    missed: needed(WHOLE, 'by how much the count may be too low'),
    share: needed(NUMBER, 'of all that the rule refused, or was asked about: from 0 to 1'),
    is_shadow: needed(YES_OR_NO, 'the rule only reports'),
  }),
)

function topJson({ customerId, keyId, isShadow, ...key }: TopKey, nameOf: ReturnType<typeof ruleNames>) {
  const rule_name = nameOf(key.domain, key.rule)
  return { ...key, rule_name, customer_id: orNull(customerId), api_key_id: orNull(keyId), is_shadow: isShadow }
}

export const TOP_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listTop',
    method: 'GET',
    path: '/top',
    tag: 'live',
    role: 'viewer',
    summary: 'who is refused most, or asks most, of all rules and nodes',
    query: {
      by: { schema: RANKING, doc: 'refused, by default' },
      period: { schema: TOP_PERIOD, doc: '5m, by default' },
      limit: {
        schema: { kind: 'integer', min: 1, max: MAX_TOP },
        doc: 'how many at most; 50, by default',
      },
    },
    answer: {
      status: 200,
      schema: object({
        by: needed(RANKING),
        period: needed(TOP_PERIOD),
        since: needed(TIME),
        ...FLEET,
        items: needed(list(TOP_KEY)),
      }),
    },
    run: async ({ parts, query }) => {
      const { by = 'refused', period = '5m', limit = MAX_TOP } = query
      const found = await parts.get(TOP).top(by, period, limit)
      const nameOf = ruleNames(parts.get(RULES)())
      const items = found.items.map((each) => topJson(each, nameOf))
      return { body: { by, period, since: timeText(found.sinceMs), ...fleetJson(found), items } }
    },
  }),
]
