import type { Account } from 'sluice/internal/core/rules/match'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { CustomerRecord, KeyRecord } from '../../quotas/book/records.ts'
import type { CounterTarget } from '../api/change.ts'

/** An entry that identifies a caller, with the caller's records. */
export interface Caller {
  /** The key of the entry, such as `api_key`. */
  readonly key: string
  /**
   * Undefined: an API key that no request has carried since this node began. Its limits are known, and its counters
   * not.
   */
  readonly value: string | undefined
  readonly account: CustomerRecord | KeyRecord | undefined
}

/** SeenKeys finds the API keys that requests have carried, by the ids of their records. */
export type SeenKeys = (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>

/** How many keys of a customer are shown: each has separate counters, which are looked at one by one. */
export const MAX_SHOWN_KEYS = 200

export type CallerTarget = CounterTarget & { readonly kind: 'customer' | 'key' }

/** callersOf lists the entries that a customer, or a key, is known by. */
export async function callersOf(
  book: QuotaBook,
  entries: CallerEntries,
  target: CallerTarget,
  seen: SeenKeys,
  maxKeys = Number.POSITIVE_INFINITY,
): Promise<readonly Caller[]> {
  const customer = target.kind === 'customer' ? book.customer(target.customerId) : undefined
  const keys = keysOf(book, target).slice(0, maxKeys)
  const texts = await seen(keys.map(({ id }) => id))
  const ofKeys = keys.flatMap((account) =>
    entries.keys.map((key): Caller => ({ key, account, value: textOf(target, account, texts) })),
  )
  if (customer === undefined) return ofKeys
  const own = entries.customers.map((key): Caller => ({ key, account: customer, value: customer.id }))
  // Who has no key yet has limits all the same.
  const without =
    keys.length > 0 ? [] : entries.keys.map((key): Caller => ({ key, account: customer, value: undefined }))
  return [...own, ...ofKeys, ...without]
}

/** keysOf lists the good keys of a target. */
export function keysOf(book: QuotaBook, target: CallerTarget): readonly KeyRecord[] {
  if (target.kind === 'key') return [book.key(target.keyId)].filter((key) => key !== undefined)
  const customer: CustomerRecord | undefined = book.customer(target.customerId)
  return customer === undefined ? [] : [...book.keys()].filter((key) => key.customer === customer)
}

function textOf(target: CallerTarget, { id }: KeyRecord, texts: ReadonlyMap<string, string>): string | undefined {
  return (target.kind === 'key' ? target.apiKey : undefined) ?? texts.get(id)
}

/** customerOf is the customer behind an account. */
export function customerOf(account: Account | undefined): CustomerRecord | undefined {
  if (account instanceof KeyRecord) return account.customer?.isKnown ? account.customer : undefined
  return account instanceof CustomerRecord ? account : undefined
}

/** nameOf names a caller in messages. */
export function nameOf(target: CallerTarget): string {
  return target.kind === 'key' ? `key ${target.keyId}` : `customer ${target.customerId}`
}

/** Returns the caller that nameOf has named. */
export function targetOf(name: string): CallerTarget | undefined {
  const at = name.indexOf(' ')
  const [kind, id] = [name.slice(0, at), name.slice(at + 1)]
  if (kind === 'key') return { kind, keyId: id }
  return kind === 'customer' ? { kind, customerId: id } : undefined
}
