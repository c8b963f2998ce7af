import type { ActivityCounts, RuleActivity, TopKey } from '../../quotas/ports.ts'
import {
  list,
  NUMBER,
  named,
  needed,
  orNull as nullable,
  object,
  TIME,
  text,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import { part } from '../api/desk.ts'
import { operation } from '../api/operation.ts'
import { invalid, orNull, timeOf, timeText } from '../api/values.ts'
import { FLEET, fleetJson, SCOPE } from '../fleet/fleet-forms.ts'
import { ruleNames } from '../rules/rule-names.ts'
import { COMPLETE_UNTIL } from '../usage/usage.ts'

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
    count: needed(WHOLE, 'at the least'),
    missed: needed(WHOLE, 'by how much the count may be too low'),
    share: needed(NUMBER, 'of all that the rule refused, or was asked about: from 0 to 1'),
    is_shadow: needed(YES_OR_NO, 'the rule only reports'),
  }),
)

function topJson({ customerId, keyId, isShadow, ...key }: TopKey, nameOf: ReturnType<typeof ruleNames>) {
  const rule_name = nameOf(key.domain, key.rule)
  return { ...key, rule_name, customer_id: orNull(customerId), api_key_id: orNull(keyId), is_shadow: isShadow }
}

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

const COUNTS = object({
  allowed: needed(WHOLE),
  refused: needed(WHOLE),
  shadow_refused: needed(WHOLE, 'what it would have refused, had it not been in shadow mode'),
})

const ACTIVITY = named(
  'RuleActivity',
  object({
    domain: needed(WORDS),
    id: needed(WORDS),
    is_shadow: needed(YES_OR_NO, 'it only reports now, by itself or by a switch'),
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

const CHANGE = named(
  'MadeChange',
  object({
    at: needed(TIME),
    kind: needed({ kind: 'choice', of: ['rules', 'tiers', 'switches', 'overrides', 'blocks', 'rule_files'] }),
    text: needed(WORDS, 'what was changed, in words'),
    actor: needed(WORDS, 'the name of who made it; `rule files` where a file was changed'),
  }),
)

const HOUR_MS = 3_600_000
const MAX_CHANGES = 500
/** Further back, the audit log has pages. */
const MAX_SINCE_MS = 31 * 24 * HOUR_MS

/** What a page shows that looks at everything at once. They come before others: `/usage/by-tier` is no API key. */
export const OVERVIEW_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listTop',
    method: 'GET',
    path: '/top',
    tag: 'live',
    role: 'viewer',
    summary: 'who is refused most, or asks most, of all rules and nodes',
    query: {
      by: { schema: RANKING, doc: 'refused, unless told otherwise' },
      period: { schema: TOP_PERIOD, doc: '5m, unless told otherwise' },
      limit: {
        schema: { kind: 'integer', min: 1, max: MAX_TOP },
        doc: 'how many at the most; 50, unless told otherwise',
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
    run: async ({ desk, query }) => {
      const { by = 'refused', period = '5m', limit = MAX_TOP } = query
      const found = await part(desk, 'top').top(by, period, limit)
      const nameOf = ruleNames(desk.rules())
      const items = found.items.map((each) => topJson(each, nameOf))
      return { body: { by, period, since: timeText(found.sinceMs), ...fleetJson(found), items } }
    },
  }),
  operation({
    kind: 'look',
    id: 'readUsageByTier',
    method: 'GET',
    path: '/usage/by-tier',
    tag: 'usage',
    role: 'viewer',
    summary: 'what the customers of each tier used',
    query: {
      period: { schema: { kind: 'choice', of: ['1h', '24h', '30d'] }, doc: '24h, unless told otherwise' },
    },
    answer: {
      status: 200,
      schema: object({
        since: needed(TIME, 'a whole hour, up to an hour before the period begins'),
        complete_until: COMPLETE_UNTIL,
        tiers: needed(list(TIER_USE)),
      }),
    },
    run: async ({ desk, query }) => {
      const { sinceMs, completeUntilMs, tiers } = await part(desk, 'tierUsage').byTier(query.period ?? '24h')
      const body = { since: timeText(sinceMs), complete_until: timeText(completeUntilMs) }
      return { body: { ...body, tiers: tiers.map((each) => ({ ...each, tier: orNull(each.tier) })) } }
    },
  }),
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
        rules: needed(list(ACTIVITY)),
      }),
    },
    run: async ({ desk, query }) => {
      const found = await part(desk, 'activity').list(query.scope ?? 'fleet')
      const rules = found.items.map(activityJson)
      return { body: { ...fleetJson(found), rules_left_out: found.rulesLeftOut, rules } }
    },
  }),
  operation({
    kind: 'look',
    id: 'listChanges',
    method: 'GET',
    path: '/changes',
    tag: 'audit',
    role: 'viewer',
    summary:
      'changes of rules, tiers, switches, overrides and blocks, and of rule files, the newest first; at most 500',
    query: { since: { schema: text(40), doc: 'not before this time; the last hour, unless told otherwise' } },
    answer: { status: 200, schema: object({ since: needed(TIME), changes: needed(list(CHANGE)) }) },
    run: async ({ desk, query, nowMs }) => {
      const sinceMs = timeOf(query.since, 'query.since') ?? nowMs - HOUR_MS
      if (nowMs - sinceMs > MAX_SINCE_MS) throw invalid('query.since', 'more than 31 days ago')
      const found = await part(desk, 'changes').since(sinceMs, MAX_CHANGES)
      const changes = found.map(({ atMs, ...change }) => ({ at: timeText(atMs), ...change }))
      return { body: { since: timeText(sinceMs), changes } }
    },
  }),
]
