import { ID, list, NUMBER, named, needed, orNull as nullable, object, TIME, WHOLE, WORDS } from '../../records/forms.ts'
import { operation } from '../api/operation.ts'
import { RULES } from '../api/parts.ts'
import { invalid, orNull, timeText } from '../api/values.ts'
import { FLEET, fleetJson, SCOPE } from '../fleet/fleet-forms.ts'
import type { FleetList } from '../fleet/fleet-questions.ts'
import { ruleNames } from '../rules/rule-names.ts'
import type { NearLimit, RecentRefusal } from './read-callers.ts'
import { RECENT } from './recent-callers.ts'

const CALLER = {
  node: needed(WORDS, 'the id of the node that decided'),
  at: needed(TIME),
  customer_id: nullable(WORDS),
  api_key_id: nullable(WORDS),
  domain: needed(WORDS),
  rule: needed(WORDS, 'its id'),
  rule_name: needed(WORDS, 'as in response headers and in explanations'),
  key: needed(WORDS, 'whom it is about; secrets are hashed'),
} as const

const REFUSAL = named(
  'Refusal',
  object({
    ...CALLER,
    reason: needed(WORDS, 'as the decision log has it, or blocked'),
    detail: nullable(WORDS, 'of a block: why, or its id'),
    retry_after_ms: nullable(NUMBER),
  }),
)

const NEAR_LIMIT = named(
  'NearLimit',
  object({
    ...CALLER,
    limit: needed(WHOLE),
    remaining: needed(WHOLE),
    window_ms: needed(NUMBER),
    resets_at: needed(TIME),
  }),
)

type FoundCaller = Pick<NearLimit, keyof RecentRefusal & keyof NearLimit>

function callerJson({ node, atMs, customerId, keyId, domain, rule, key }: FoundCaller, nameOf: NameOf) {
  const caller = { customer_id: orNull(customerId), api_key_id: orNull(keyId), key }
  return { node, at: timeText(atMs), ...caller, domain, rule, rule_name: nameOf(domain, rule) }
}

type NameOf = ReturnType<typeof ruleNames>

const DEFAULT_LIMIT = 50
const LIMIT = {
  schema: { kind: 'integer', min: 1, max: 1_000 },
  doc: 'how many at most; 50, by default',
} as const

export const REFUSALS = { ...FLEET, refusals: needed(list(REFUSAL)) } as const

/** refusalsJson is what was refused last, no more than `limit`. */
export function refusalsJson(found: FleetList<RecentRefusal>, limit: number, nameOf: NameOf) {
  const refusals = found.items.slice(0, limit).map((each) => ({
    ...callerJson(each, nameOf),
    reason: each.reason,
    detail: orNull(each.detail),
    retry_after_ms: orNull(each.retryAfterMs),
  }))
  return { ...fleetJson(found), refusals }
}

/** What nodes remember: the last callers, not all of them. */
export const RECENT_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listRefusals',
    method: 'GET',
    path: '/refusals',
    tag: 'live',
    role: 'viewer',
    summary: 'the last refusals of all nodes, with rule and reason, the newest first',
    query: {
      customer_id: { schema: ID, doc: 'of a customer' },
      api_key_id: { schema: ID, doc: 'of one key' },
      scope: SCOPE,
      limit: LIMIT,
    },
    answer: { status: 200, schema: object(REFUSALS) },
    run: async ({ parts, query }) => {
      const { customer_id: customerId, api_key_id: keyId, scope = 'fleet', limit = DEFAULT_LIMIT } = query
      if (customerId !== undefined && keyId !== undefined)
        throw invalid('query', 'customer_id and api_key_id are given')
      const ofCustomer = customerId === undefined ? undefined : ({ kind: 'customer', customerId } as const)
      const of = keyId === undefined ? ofCustomer : ({ kind: 'key', keyId } as const)
      return { body: refusalsJson(await parts.get(RECENT).refusals(scope, of), limit, ruleNames(parts.get(RULES)())) }
    },
  }),
  operation({
    kind: 'look',
    id: 'listNearLimits',
    method: 'GET',
    path: '/near-limits',
    tag: 'live',
    role: 'viewer',
    summary: 'callers that have used 80 % of a limit or more, the nearest first',
    query: {
      min_window_ms: { schema: WHOLE, doc: 'only limits whose window is at least so long' },
      scope: SCOPE,
      limit: LIMIT,
    },
    answer: { status: 200, schema: object({ ...FLEET, callers: needed(list(NEAR_LIMIT)) }) },
    run: async ({ parts, query }) => {
      const { min_window_ms: least = 0, scope = 'fleet', limit = DEFAULT_LIMIT } = query
      const found = await parts.get(RECENT).nearLimits(scope)
      const long = found.items.filter(({ windowMs }) => windowMs >= least)
      const callers = long.slice(0, limit).map((each) => ({
        ...callerJson(each, ruleNames(parts.get(RULES)())),
        limit: each.limit,
        remaining: each.remaining,
        window_ms: each.windowMs,
        resets_at: timeText(each.resetAtMs),
      }))
      return { body: { ...fleetJson(found), callers } }
    },
  }),
]
