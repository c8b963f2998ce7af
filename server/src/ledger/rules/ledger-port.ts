import type { Operation } from '../core/account-state.ts'
import type { LedgerAnswer } from '../ledger-batch.ts'

/** A LedgerPort is the ledger of a node, in this process or in its primary. */
export interface LedgerPort {
  /** Does one operation. Rejects when the database does not answer: then it may have been done. */
  ask(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer>
}
