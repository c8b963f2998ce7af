import type { Actor } from '../quotas/audit/actor.ts'
import type { TestDatabase } from '../quotas/database/databases.suite.ts'
import type { Customer, Meter } from '../quotas/model.ts'
import { type Quotas, quotasOn } from '../quotas/open/open-quotas.ts'
import { Ledger, type LedgerOptions } from './ledger.ts'

export const OWNER: Actor = { id: 'token-1', name: 'Owner', address: undefined, reason: undefined }

export const meter = (id: string, more: Partial<Meter> = {}): Meter => ({
  id,
  unit: id,
  period: 'month',
  allowance: 0,
  allowances: {},
  carryMost: 0,
  carryPeriods: 1,
  graceSeconds: 0,
  overdraft: 0,
  holdSeconds: 300,
  refusalStatus: 402,
  whenUnavailable: 'closed',
  version: 0,
  createdAtMs: 0,
  updatedAtMs: 0,
  ...more,
})

export const customer = (id: string, more: Partial<Customer> = {}): Customer => ({
  id,
  name: id,
  tier: undefined,
  status: 'active',
  timeZone: 'UTC',
  periodAnchor: undefined,
  metadata: {},
  version: 0,
  createdAtMs: 0,
  updatedAtMs: 0,
  ...more,
})

/** A LedgerScene is a database with a ledger on it, and some meters and customers. */
export interface LedgerScene {
  readonly quotas: Quotas
  readonly ledger: Ledger
  put(...records: readonly (Meter | Customer)[]): Promise<void>
  /** node returns another ledger on the same database, as another node has it. */
  node(options?: LedgerOptions): Promise<Ledger>
}

export async function openScene(place: TestDatabase, options: LedgerOptions = {}): Promise<LedgerScene> {
  const quotas = await quotasOn(await place.open(), { refreshEveryMs: 3_600_000 })
  return {
    quotas,
    ledger: new Ledger(quotas.db, options),
    async put(...records) {
      for (const record of records) {
        const table = 'period' in record ? 'meters' : 'customers'
        await quotas.store.put(table, record as never, OWNER)
      }
    },
    node: async (more = {}) => new Ledger(await place.open(), { ...options, ...more }),
  }
}
