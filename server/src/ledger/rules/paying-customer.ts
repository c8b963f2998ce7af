import type { Entry } from 'sluice/internal/core/request'
import type { AccountLookup } from 'sluice/internal/core/rules/match'
import { CustomerRecord, KeyRecord } from '../../quotas/book/records.ts'

/**
 * Returns the customer who pays for a request: whom the first entry that is known leads to, as for usage. The book
 * knows no key that is not good any more.
 */
export function payingCustomer(accounts: AccountLookup | undefined, entries: readonly Entry[]): string | undefined {
  if (accounts === undefined) return undefined
  for (const entry of entries) {
    const account = accounts('', entry)
    if (account instanceof CustomerRecord) return account.id
    if (account instanceof KeyRecord && account.customer?.isKnown) return account.customer.id
  }
  return undefined
}
