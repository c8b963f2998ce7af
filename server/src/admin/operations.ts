import { ANY } from '../records/forms.ts'
import { openApi } from './api/open-api.ts'
import { type AnyOperation, operation } from './api/operation.ts'
import { AUDIT_OPERATIONS } from './audit/audit.ts'
import { BLOCK_OPERATIONS } from './blocks/blocks.ts'
import { COUNTER_OPERATIONS } from './counters/counters.ts'
import { CUSTOMER_OPERATIONS } from './customers/customers.ts'
import { GRANT_OPERATIONS } from './grants/grants.ts'
import { KEY_OPERATIONS } from './keys/keys.ts'
import { LIVE_OPERATIONS } from './live/live.ts'
import { OVERRIDE_OPERATIONS } from './overrides/overrides.ts'
import { OVERVIEW_OPERATIONS } from './overview/overview.ts'
import { QUOTA_OPERATIONS } from './quotas/quotas.ts'
import { RECENT_OPERATIONS } from './refusals/refusals.ts'
import { RULE_OPERATIONS } from './rules/rules.ts'
import { SESSION_OPERATIONS } from './session/session.ts'
import { LAYER_OPERATIONS } from './switches/layers.ts'
import { SWITCH_OPERATIONS } from './switches/switches.ts'
import { TIER_OPERATIONS } from './tiers/tiers.ts'
import { TOKEN_OPERATIONS } from './tokens/tokens.ts'
import { USAGE_OPERATIONS } from './usage/usage.ts'
import { WEBHOOK_OPERATIONS } from './webhooks/webhooks.ts'

/**
 * operationsOf is the one table of what the admin API can do: requests are checked by it, OpenAPI is written from it, and
 * docs/admin-api.md lists it. Where paths overlap, the first one is taken.
 */
export function operationsOf(version: string): readonly AnyOperation[] {
  // Written when somebody asks, so that a start does not wait for it.
  let described: object | undefined
  const operations: AnyOperation[] = [
    operation({
      kind: 'look',
      id: 'readOpenApi',
      method: 'GET',
      path: '/openapi.json',
      tag: 'openapi',
      role: 'anyone',
      summary: 'this API as OpenAPI 3.1',
      answer: { status: 200, schema: ANY },
      run: async () => {
        described ??= openApi(operations, version)
        return { body: described }
      },
    }),
    ...SESSION_OPERATIONS,
    ...OVERVIEW_OPERATIONS,
    ...QUOTA_OPERATIONS,
    ...CUSTOMER_OPERATIONS,
    ...KEY_OPERATIONS,
    ...OVERRIDE_OPERATIONS,
    ...GRANT_OPERATIONS,
    ...BLOCK_OPERATIONS,
    ...TIER_OPERATIONS,
    ...RULE_OPERATIONS,
    ...SWITCH_OPERATIONS,
    ...LAYER_OPERATIONS,
    ...COUNTER_OPERATIONS,
    ...USAGE_OPERATIONS,
    ...AUDIT_OPERATIONS,
    ...LIVE_OPERATIONS,
    ...RECENT_OPERATIONS,
    ...TOKEN_OPERATIONS,
    ...WEBHOOK_OPERATIONS,
  ]
  return operations
}
