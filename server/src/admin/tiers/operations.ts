import { SluiceError } from 'sluice/internal/core/errors'
import type { StoredTier } from '../../quotas/model.ts'
import {
  ANY,
  list,
  named,
  needed,
  object,
  optional,
  pageOf,
  REASON,
  TIER_NAME,
  text,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import { tiers } from '../../records/tables.ts'
import { changedAnswer, REMOVED, statingInForce } from '../api/in-force.ts'
import { operation } from '../api/operation.ts'
import { RECORDS, RULES } from '../api/parts.ts'
import { creation, listRecords, load, recordReply, removal, replacement } from '../api/records.ts'
import { LIMIT, NODE } from '../rules/rule-tree.ts'
import { tierLimits } from './tier-limits.ts'
import { tiersInForce } from './tiers-in-force.ts'

const PARAM = {
  domain: { schema: text(256), doc: 'the domain of the rules' },
  tier: { schema: TIER_NAME, doc: 'the name of the tier' },
} as const

const MOST_STORED = 500

const idOf = ({ domain, tier }: { readonly domain: string; readonly tier: string }): string => `${domain}/${tier}`

export const TIER_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listTiersInForce',
    method: 'GET',
    path: '/tiers/in-force',
    tag: 'tiers',
    role: 'viewer',
    summary: 'all tiers, of rule files and of the API, with their plain limits',
    answer: {
      status: 200,
      schema: object({
        tiers: needed(
          list(
            object({
              domain: needed(WORDS),
              name: needed(WORDS),
              is_stored: needed(YES_OR_NO),
              limits: needed(list(LIMIT)),
              below: needed(list(NODE), 'what it limits of parts of the requests'),
            }),
          ),
        ),
      }),
    },
    run: async (call) => {
      const page = await call.parts.find(RECORDS)?.list('tiers', { limit: MOST_STORED })
      const domains = [...call.parts.get(RULES)().domains.values()]
      const tiers = domains.flatMap((domain) => tiersInForce(domain, page?.items ?? []))
      return { body: { tiers } }
    },
  }),
  operation({
    kind: 'look',
    id: 'listTiers',
    method: 'GET',
    path: '/tiers',
    tag: 'tiers',
    role: 'viewer',
    summary: 'tiers that stand in place of those in rule files',
    query: { domain: { schema: text(256), doc: 'those of a domain' } },
    isPaged: true,
    answer: { status: 200, schema: pageOf(tiers.answer) },
    run: (call) => listRecords(call, 'tiers', { domain: call.query.domain }),
  }),
  operation({
    kind: 'look',
    id: 'readTier',
    method: 'GET',
    path: '/tiers/{domain}/{tier}',
    tag: 'tiers',
    role: 'viewer',
    summary: 'one tier',
    params: PARAM,
    answer: { status: 200, schema: tiers.answer, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => recordReply(call, 'tiers', await load(call, 'tiers', idOf(call.params))),
  }),
  operation({
    kind: 'change',
    id: 'putTier',
    method: 'PUT',
    path: '/tiers/{domain}/{tier}',
    tag: 'tiers',
    role: 'admin',
    summary: 'make or replace a tier; If-Match is needed once it is there',
    params: PARAM,
    body: named(
      'TierFields',
      object({
        limits: needed(ANY, 'as below the name of a tier in a rule file: as a value, or as a text in YAML'),
        reason: optional(REASON),
      }),
    ),
    ifMatch: 'optional',
    answer: { status: 200, schema: changedAnswer('TierChanged', tiers.answerFields), etag: true },
    errors: ['VERSION_STALE', 'VERSION_REQUIRED', 'RULE_INVALID'],
    plan: async (call) => {
      const { domain, tier: name } = call.params
      const limits = tierLimits(domain, name, call.body.limits)
      const target = { table: 'tiers', id: idOf(call.params) } as const
      const before = await call.parts.get(RECORDS).get('tiers', target.id)
      const record: StoredTier = { domain, name, limits, version: before?.version ?? 0, updatedAtMs: call.nowMs }
      if (before === undefined) return statingInForce(call, creation(call, target, record))
      if (call.request.headers['if-match'] === undefined) {
        throw new SluiceError('VERSION_REQUIRED', 'if-match', 'missing, and the tier is there')
      }
      return statingInForce(
        call,
        replacement(call, target, () => record),
      )
    },
  }),
  operation({
    kind: 'change',
    id: 'removeTier',
    method: 'DELETE',
    path: '/tiers/{domain}/{tier}',
    tag: 'tiers',
    role: 'admin',
    summary: 'remove a tier: the one in the rule file applies again',
    params: PARAM,
    ifMatch: 'required',
    answer: { status: 200, schema: REMOVED },
    errors: ['RECORD_UNKNOWN'],
    plan: (call) => statingInForce(call, removal(call, { table: 'tiers', id: idOf(call.params) })),
  }),
]
