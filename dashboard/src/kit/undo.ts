import { ask } from '../api/client.ts'
import type { ApiKey, Block, Customer, Grant, Operations, Override } from '../api/operations.ts'
import { type FormId, limitsOf } from './fields.ts'

type Ask = typeof ask

/** Belongings are the records that are removed with a customer, and can be created again. */
export interface Belongings {
  readonly overrides: readonly Override[]
  readonly grants: readonly Grant[]
  readonly blocks: readonly Block[]
}

const REASON = 'undone in the dashboard'

/** fieldsFor returns what an operation needs to write a record as it was: all of its fields that the operation takes. */
export function fieldsFor<Id extends FormId>(id: Id, record: object): Operations[Id]['body'] {
  const names = limitsOf(id).map(([name]) => name as string)
  return Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name))) as Operations[Id]['body']
}

/** formerFields returns the fields that a change has changed, as they were. null takes a value away again. */
export function formerFields<Id extends FormId>(id: Id, before: object, after: object): Operations[Id]['body'] {
  const fields = Object.entries(fieldsFor(id, before) ?? {})
  const changed = fields.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(after, name)))
  return Object.fromEntries(changed) as Operations[Id]['body']
}

/**
 * undoBy returns how each change of a customer is taken back: by a call that the audit log shows, too. Later changes are not overwritten:
 * the calls name the version that the change made.
 */
export function undoBy(ask: Ask) {
  const createOverride = (customer_id: string, override: Override) => {
    // Whatever it is for and whatever it lowers: it was there before.
    const body = { ...fieldsFor('createOverride', override), all: true, allow_lower: true }
    return ask('createOverride', { params: { customer_id }, body, reason: REASON })
  }
  const createGrant = (customer_id: string, grant: Grant) =>
    ask('createGrant', { params: { customer_id }, body: fieldsFor('createGrant', grant), reason: REASON })
  const createBlock = (block: Block) => ask('createBlock', { body: fieldsFor('createBlock', block), reason: REASON })

  return {
    customerCreated: ({ id, version }: Customer) =>
      ask('removeCustomer', { params: { customer_id: id }, version, reason: REASON }),
    /** `after` is the customer as the change left it. */
    customerChanged: (before: Customer, after: Customer) => {
      const body = formerFields('changeCustomer', before, after)
      return ask('changeCustomer', { params: { customer_id: before.id }, body, version: after.version, reason: REASON })
    },
    /** Keys do not come back: only their hashes are stored. */
    customerRemoved: async (before: Customer, { overrides, grants, blocks }: Belongings) => {
      const { id } = before
      await ask('createCustomer', { body: fieldsFor('createCustomer', before), reason: REASON })
      for (const each of overrides) if (each.api_key_id === null) await createOverride(id, each)
      for (const each of grants) if (each.amount > 0) await createGrant(id, each)
      for (const each of blocks) if (each.customer_id !== null) await createBlock(each)
    },
    overrideCreated: (customer_id: string, { id, version }: Override) =>
      ask('removeOverride', { params: { customer_id, override_id: id }, version, reason: REASON }),
    overrideRemoved: createOverride,
    grantCreated: (customer_id: string, { id, version }: Grant) =>
      ask('removeGrant', { params: { customer_id, grant_id: id }, version, reason: REASON }),
    /** A grant that is created again is unused, so it is created with what was `left`. */
    grantRemoved: (customer_id: string, before: Grant, left: number) =>
      createGrant(customer_id, { ...before, amount: Math.min(left, before.amount) }),
    blockCreated: ({ id, version }: Block) => ask('removeBlock', { params: { block_id: id }, version, reason: REASON }),
    blockRemoved: createBlock,
    keyAdded: (customer_id: string, { id, version }: ApiKey) =>
      ask('revokeKey', { params: { customer_id, key_id: id }, version, reason: REASON }),
  }
}

export const undo = undoBy(ask)
