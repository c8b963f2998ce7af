import { ask } from '../../api/client.ts'
import type { ApiKey, Block, Customer, Grant, LimitState, Override } from '../../api/operations.ts'
import { type Resource, useResource } from '../../api/resource.ts'
import { allPages, LARGEST_PAGE } from './all-pages.ts'

const FIGURES_MS = 3_000
const RECORDS_MS = 15_000
/** Of how many keys the own limits and blocks are looked for. */
const MOST_KEYS = 20

/** CustomerData is all that is known of one customer. */
export interface CustomerData {
  readonly customer: Resource<Customer>
  readonly limits: Resource<readonly LimitState[]>
  readonly keys: Resource<readonly ApiKey[]>
  /** Those of the customer, then those of keys. */
  readonly overrides: Resource<readonly Override[]>
  readonly grants: Resource<readonly Grant[]>
  readonly blocks: Resource<readonly Block[]>
  reload(): void
}

/**
 * useCustomer reads a customer: what was used every few seconds, and records now and then, as others change them, too. While it is held,
 * nothing is read by itself: what is about to be removed is not looked for afterwards.
 */
export function useCustomer(id: string, isHeld: boolean): CustomerData {
  const figuresMs = isHeld ? undefined : FIGURES_MS
  const recordsMs = isHeld ? undefined : RECORDS_MS
  const params = { customer_id: id }
  const page_size = LARGEST_PAGE
  const customer = useResource(
    `customer ${id}`,
    async (signal) => (await ask('readCustomer', { params, signal })).body,
    figuresMs,
  )
  const limits = useResource(
    `limits ${id}`,
    async (signal) => (await ask('readCustomerLimits', { params, signal })).body.limits,
    figuresMs,
  )
  const keys = useResource(
    `keys ${id}`,
    (signal) =>
      allPages(async (cursor) => (await ask('listKeys', { params, query: { cursor, page_size }, signal })).body),
    recordsMs,
  )
  const keyIds = (keys.data ?? []).filter(({ revoked_at }) => revoked_at === null).map((key) => key.id)
  const lookedAt = [undefined, ...keyIds.slice(0, MOST_KEYS)]
  const overrides = useResource(
    `overrides ${id}`,
    (signal) => inTurn(lookedAt, (api_key_id) => listOverrides(id, api_key_id, signal)),
    recordsMs,
  )
  const grants = useResource(
    `grants ${id}`,
    (signal) =>
      allPages(async (cursor) => (await ask('listGrants', { params, query: { cursor, page_size }, signal })).body),
    recordsMs,
  )
  const blocks = useResource(
    `blocks ${id}`,
    (signal) =>
      inTurn(lookedAt, async (api_key_id) => {
        const query = api_key_id === undefined ? { customer_id: id, page_size } : { api_key_id, page_size }
        return (await ask('listBlocks', { query, signal })).body.items
      }),
    recordsMs,
  )
  const all = [customer, limits, keys, overrides, grants, blocks]
  return {
    ...{ customer, limits, keys, overrides, grants, blocks },
    reload: () => {
      for (const each of all) each.reload()
    },
  }
}

function listOverrides(id: string, api_key_id: string | undefined, signal: AbortSignal) {
  return allPages(async (cursor) => {
    const query = { api_key_id, cursor, page_size: LARGEST_PAGE }
    return (await ask('listOverrides', { params: { customer_id: id }, query, signal })).body
  })
}

async function inTurn<T, R>(list: readonly T[], read: (each: T) => Promise<readonly R[]>): Promise<readonly R[]> {
  const found: R[] = []
  for (const each of list) found.push(...(await read(each)))
  return found
}
