import type { Sql } from '../database/database.ts'
import type { QuotaTable } from '../model.ts'
import type { Change } from './change-plan.ts'

/** What is about a customer, and about a key: it goes with them. Keys of customers come last. */
const OF_CUSTOMERS = `
SELECT 'overrides' AS "table", id FROM sluice.quota_overrides
  WHERE customer_id = ANY($1) OR api_key_id = ANY($2)
    OR api_key_id IN (SELECT id FROM sluice.api_keys WHERE customer_id = ANY($1))
UNION ALL SELECT 'grants', id FROM sluice.grants WHERE customer_id = ANY($1)
UNION ALL SELECT 'blocks', id FROM sluice.blocks
  WHERE customer_id = ANY($1) OR api_key_id = ANY($2)
    OR api_key_id IN (SELECT id FROM sluice.api_keys WHERE customer_id = ANY($1))
UNION ALL SELECT 'api_keys', id FROM sluice.api_keys WHERE customer_id = ANY($1)`

/**
 * Returns the changes that other changes bring about: with a customer go their keys, and with either what is about
 * them.
 */
export async function dependentsOf(tx: Sql, changes: readonly Change[]): Promise<readonly Change[]> {
  const gone = (table: QuotaTable): string[] =>
    changes.filter((change) => change.table === table && change.record === undefined).map(({ id }) => id)
  const [customers, keys] = [gone('customers'), gone('api_keys')]
  if (customers.length === 0 && keys.length === 0) return []
  const named = new Set(changes.map(({ table, id }) => `${table}/${id}`))
  const found = await tx.query<{ table: QuotaTable; id: string }>(OF_CUSTOMERS, [customers, keys])
  return found.filter(({ table, id }) => !named.has(`${table}/${id}`)).map((each) => ({ ...each, record: undefined }))
}
