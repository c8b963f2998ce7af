import { ask } from '../../api/client.ts'
import type { ApiKey, Block, Customer, CustomerFields, Grant, Override, OverrideFields } from '../../api/operations.ts'

type Ask = typeof ask

/** Belongings are what goes with a customer that is removed, and can be made again. */
export interface Belongings {
  readonly overrides: readonly Override[]
  readonly grants: readonly Grant[]
  readonly blocks: readonly Block[]
}

const REASON = 'undone in the dashboard'

/**
 * undoBy returns how each change of a customer is taken back: by a call of its own, which the audit log has, too. What was changed
 * meanwhile is not overwritten: the calls name the version that the change made.
 */
export function undoBy(ask: Ask) {
  const params = (customer_id: string) => ({ customer_id })

  const createOverride = (customerId: string, override: Override) =>
    ask('createOverride', { params: params(customerId), body: overrideFields(override), reason: REASON })
  const createGrant = (customerId: string, { amount, ...rest }: Grant) => {
    const { descriptor, ticket, reason, effective_at, expires_at } = rest
    const body = { amount, descriptor, ticket, reason, effective_at, expires_at }
    return ask('createGrant', { params: params(customerId), body, reason: REASON })
  }
  const createBlock = ({ customer_id, api_key_id, cidr, reason, status, body, effective_at, expires_at }: Block) =>
    ask('createBlock', {
      body: { customer_id, api_key_id, cidr, reason, status, body, effective_at, expires_at },
      reason: REASON,
    })

  return {
    async customerMade({ id, version }: Customer): Promise<void> {
      await ask('removeCustomer', { params: params(id), version, reason: REASON })
    },
    /** `after` is the customer as the change left it. */
    async customerChanged(before: Customer, after: Customer): Promise<void> {
      const body = formerFields(before, after)
      await ask('changeCustomer', { params: params(before.id), body, version: after.version, reason: REASON })
    },
    /** Keys do not come back: nobody keeps them. */
    async customerRemoved(before: Customer, { overrides, grants, blocks }: Belongings): Promise<void> {
      const { id, name, tier, status, time_zone, period_anchor, metadata } = before
      const body = { id, name, tier, status, time_zone, period_anchor, metadata }
      await ask('createCustomer', { body, reason: REASON })
      for (const each of overrides) if (each.api_key_id === null) await createOverride(id, each)
      for (const each of grants) if (each.amount > 0) await createGrant(id, each)
      for (const each of blocks) if (each.customer_id !== null) await createBlock(each)
    },
    async overrideMade(customerId: string, { id, version }: Override): Promise<void> {
      await ask('removeOverride', { params: { customer_id: customerId, override_id: id }, version, reason: REASON })
    },
    async overrideRemoved(customerId: string, before: Override): Promise<void> {
      await createOverride(customerId, before)
    },
    async grantMade(customerId: string, { id, version }: Grant): Promise<void> {
      await ask('removeGrant', { params: { customer_id: customerId, grant_id: id }, version, reason: REASON })
    },
    /** A grant that is made again is unused, so it is made of what was `left`. */
    async grantRemoved(customerId: string, before: Grant, left: number): Promise<void> {
      await createGrant(customerId, { ...before, amount: Math.min(left, before.amount) })
    },
    async blockMade({ id, version }: Block): Promise<void> {
      await ask('removeBlock', { params: { block_id: id }, version, reason: REASON })
    },
    async blockRemoved(before: Block): Promise<void> {
      await createBlock(before)
    },
    async keyAdded(customerId: string, { id, version }: ApiKey): Promise<void> {
      await ask('revokeKey', { params: { customer_id: customerId, key_id: id }, version, reason: REASON })
    },
  }
}

export const undo = undoBy(ask)

const FIELDS = ['name', 'tier', 'status', 'time_zone', 'period_anchor', 'metadata'] as const

/** formerFields are the fields that a change has changed, as they were. null takes a value away again. */
export function formerFields(before: Customer, after: Customer): CustomerFields {
  const changed = FIELDS.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
  return Object.fromEntries(changed.map((field) => [field, before[field]]))
}

/** overrideFields are what makes an override like this one, whatever it is for and lowers: it was there before. */
function overrideFields(override: Override): OverrideFields {
  const { descriptor, domain, rule, requests_per_unit, unit, algorithm, burst, api_key_id, ticket, reason } = override
  const { effective_at, expires_at } = override
  return {
    ...{ descriptor, domain, rule, requests_per_unit, unit, burst, api_key_id, ticket, reason },
    ...{ effective_at, expires_at, all: true, allow_lower: true },
    algorithm: algorithm as OverrideFields['algorithm'],
  }
}
