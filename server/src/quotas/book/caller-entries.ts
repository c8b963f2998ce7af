/** The entries of a request that identify the caller, by their key. */
export interface CallerEntries {
  /** Their value is an API key. */
  readonly keys: readonly string[]
  /** Their value is the id of a customer. */
  readonly customers: readonly string[]
  /** Their value is an address. */
  readonly addresses: readonly string[]
}

export const CALLER_ENTRIES: CallerEntries = {
  keys: ['api_key', 'x-api-key'],
  customers: ['customer', 'customer_id', 'tenant'],
  addresses: ['remote_address', 'ip'],
}

export type CallerKind = keyof CallerEntries

/**
 * Maps the key of an entry to the kind of its value. A key of several kinds counts as the first: API keys, customers,
 * addresses.
 */
export function kindsOf({ keys, customers, addresses }: CallerEntries): ReadonlyMap<string, CallerKind> {
  const kinds = new Map<string, CallerKind>()
  for (const key of addresses) kinds.set(key, 'addresses')
  for (const key of customers) kinds.set(key, 'customers')
  for (const key of keys) kinds.set(key, 'keys')
  return kinds
}
