import { list, named, needed, orNull as nullable, object, TIME, WHOLE, WORDS } from '../../records/forms.ts'
import { operation } from '../api/operation.ts'
import { TIER_USAGE } from '../api/parts.ts'
import { orNull, timeText } from '../api/values.ts'
import { COMPLETE_UNTIL } from './operations.ts'

const TIER_USE = named(
  'TierUse',
  object({
    tier: nullable(WORDS, 'null: customers without a tier'),
    customers: needed(WHOLE, 'how many have it now'),
    allowed: needed(WHOLE),
    refused: needed(WHOLE),
    cost: needed({ kind: 'integer' }, 'of requests that were allowed, less what was given back'),
  }),
)

export const TIER_USAGE_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'readUsageByTier',
    method: 'GET',
    path: '/usage/by-tier',
    tag: 'usage',
    role: 'viewer',
    summary: 'what the customers of each tier used',
    query: {
      period: { schema: { kind: 'choice', of: ['1h', '24h', '30d'] }, doc: '24h, by default' },
    },
    answer: {
      status: 200,
      schema: object({
        since: needed(TIME, 'a whole hour, up to an hour before the period begins'),
        complete_until: COMPLETE_UNTIL,
        tiers: needed(list(TIER_USE)),
      }),
    },
    run: async ({ parts, query }) => {
      const { sinceMs, completeUntilMs, tiers } = await parts.get(TIER_USAGE).byTier(query.period ?? '24h')
      const body = { since: timeText(sinceMs), complete_until: timeText(completeUntilMs) }
      return { body: { ...body, tiers: tiers.map((each) => ({ ...each, tier: orNull(each.tier) })) } }
    },
  }),
]
