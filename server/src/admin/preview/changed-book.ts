import type { Callers, QuotaBook } from '../../quotas/book/quota-book.ts'
import type { QuotaRecords } from '../../quotas/model.ts'
import type { RecordChange } from './affected.ts'

/** Returns when all of the changes have taken effect. */
export function effectiveAt(changes: readonly RecordChange[], nowMs: number): number {
  const starts = changes.map(({ after }) => (after as { effectiveAtMs?: number } | undefined)?.effectiveAtMs ?? 0)
  return Math.max(nowMs, ...starts)
}

/** Returns the book as it would be for some callers, when all of the changes have taken effect. */
export function changedBook(
  changes: readonly RecordChange[],
  book: QuotaBook,
  callers: Callers,
  nowMs: number,
): QuotaBook {
  const changed = book.sketch(callers, effectiveAt(changes, nowMs))
  for (const { table, id, after } of changes) {
    if (table === 'blocks' || table === 'switches') continue
    changed.put(table, id, after as QuotaRecords[typeof table] | undefined)
    if (table === 'customers' && after === undefined) removeKeys(changed, id)
  }
  return changed
}

function removeKeys(book: QuotaBook, customerId: string): void {
  for (const { id, customer } of [...book.keys()]) if (customer?.id === customerId) book.put('api_keys', id, undefined)
}
