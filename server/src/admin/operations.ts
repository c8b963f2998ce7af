import { ANY } from '../records/forms.ts'
import { ACTIVITY_OPERATIONS } from './activity/operations.ts'
import { openApi } from './api/open-api.ts'
import { type AnyOperation, operation } from './api/operation.ts'
import { AUDIT_OPERATIONS } from './audit/operations.ts'
import { BLOCK_OPERATIONS } from './blocks/operations.ts'
import { CHANGE_OPERATIONS } from './changes/operations.ts'
import { COUNTER_OPERATIONS } from './counters/operations.ts'
import { CUSTOMER_OPERATIONS } from './customers/operations.ts'
import { GRANT_OPERATIONS } from './grants/operations.ts'
import { KEY_OPERATIONS } from './keys/operations.ts'
import { LEDGER_DOOR_OPERATIONS } from './ledger/door-operations.ts'
import { LEDGER_OPERATIONS } from './ledger/operations.ts'
import { LIVE_OPERATIONS } from './live/operations.ts'
import { METER_OPERATIONS } from './meters/operations.ts'
import { OVERRIDE_OPERATIONS } from './overrides/operations.ts'
import { QUOTA_OPERATIONS } from './quotas/operations.ts'
import { RECENT_OPERATIONS } from './refusals/operations.ts'
import { RULE_OPERATIONS } from './rules/operations.ts'
import { SESSION_OPERATIONS } from './session/operations.ts'
import { LAYER_OPERATIONS } from './switches/layer-operations.ts'
import { SWITCH_OPERATIONS } from './switches/operations.ts'
import { TIER_OPERATIONS } from './tiers/operations.ts'
import { TOKEN_OPERATIONS } from './tokens/operations.ts'
import { TOP_OPERATIONS } from './top/operations.ts'
import { USAGE_OPERATIONS } from './usage/operations.ts'
import { TIER_USAGE_OPERATIONS } from './usage/tier-operations.ts'
import { WEBHOOK_OPERATIONS } from './webhooks/operations.ts'

/**
 * operationsOf is the one table of what the admin API can do: requests are checked by it, OpenAPI is written from it,
 * and docs/admin-api.md lists it. Where paths overlap, the first one is taken.
 */
export function operationsOf(version: string): readonly AnyOperation[] {
  // Written when it is first requested, so that a start does not wait for it.
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
    ...TOP_OPERATIONS,
    // Before those of API keys: `/usage/by-tier` is none.
    ...TIER_USAGE_OPERATIONS,
    ...ACTIVITY_OPERATIONS,
    ...CHANGE_OPERATIONS,
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
    ...METER_OPERATIONS,
    ...LEDGER_DOOR_OPERATIONS,
    ...LEDGER_OPERATIONS,
    ...USAGE_OPERATIONS,
    ...AUDIT_OPERATIONS,
    ...LIVE_OPERATIONS,
    ...RECENT_OPERATIONS,
    ...TOKEN_OPERATIONS,
    ...WEBHOOK_OPERATIONS,
  ]
  return operations
}
