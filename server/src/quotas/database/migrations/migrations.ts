import { QUOTAS } from './001-quotas.ts'
import { ADMIN } from './002-admin.ts'
import { WEBHOOKS } from './003-webhooks.ts'
import { USAGE_BY_TIER } from './004-usage-by-tier.ts'
import { NODES } from './005-nodes.ts'
import { OVERRIDE_SCOPE } from './006-override-scope.ts'
import { LEDGER } from './007-ledger.ts'
import { LEDGER_OUTAGE } from './008-ledger-outage.ts'
import { LEDGER_EXPORTS } from './009-ledger-exports.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  /** Several statements, which run in one transaction with the note that they have run. */
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'quotas', sql: QUOTAS },
  { version: 2, name: 'admin', sql: ADMIN },
  { version: 3, name: 'webhooks', sql: WEBHOOKS },
  { version: 4, name: 'usage by tier', sql: USAGE_BY_TIER },
  { version: 5, name: 'nodes', sql: NODES },
  { version: 6, name: 'override scope', sql: OVERRIDE_SCOPE },
  { version: 7, name: 'ledger', sql: LEDGER },
  { version: 8, name: 'ledger outage', sql: LEDGER_OUTAGE },
  { version: 9, name: 'ledger exports', sql: LEDGER_EXPORTS },
]
