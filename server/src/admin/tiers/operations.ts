import { ANY, list, needed, object, TIER_NAME, text, WORDS, YES_OR_NO } from '../../records/forms.ts'
import { operation } from '../api/operation.ts'
import { RECORDS, RULES } from '../api/parts.ts'
import { RecordOperations } from '../api/record-operations.ts'
import { LIMIT, NODE } from '../rules/rule-tree.ts'
import { tierId } from './table.ts'
import { tierLimits } from './tier-limits.ts'
import { tiersInForce } from './tiers-in-force.ts'

const TIERS = new RecordOperations({
  table: 'tiers',
  tag: 'tiers',
  path: '/tiers',
  one: {
    domain: { schema: text(256), doc: 'the domain of the rules' },
    tier: { schema: TIER_NAME, doc: 'the name of the tier' },
  },
  idOf: ({ domain, tier }) => tierId({ domain, name: tier }),
})

const MOST_STORED = 500

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
  TIERS.list({
    id: 'listTiers',
    summary: 'tiers that stand in place of those in rule files',
    query: { domain: { schema: text(256), doc: 'tiers of a domain' } },
    where: ({ query: { domain } }) => ({ domain }),
  }),
  TIERS.read({ id: 'readTier', summary: 'one tier' }),
  TIERS.put({
    id: 'putTier',
    summary: 'make or replace a tier; If-Match is needed once it is there',
    role: 'admin',
    form: 'TierFields',
    sent: { limits: needed(ANY, 'as below the name of a tier in a rule file: as a value, or as a text in YAML') },
    answer: 'TierChanged',
    errors: ['VERSION_STALE', 'VERSION_REQUIRED', 'RULE_INVALID'],
    needsVersion: true,
    record: ({ body, params: { domain, tier } }) => ({
      domain,
      name: tier,
      limits: tierLimits(domain, tier, body.limits),
    }),
  }),
  TIERS.remove({
    id: 'removeTier',
    summary: 'remove a tier: the one in the rule file applies again',
    role: 'admin',
    statesRules: true,
  }),
]
