import type { ApiKey, Block, Customer, Grant, LimitState, NewKey, Override } from '../../../api/operations.ts'
import { type Change, confirmChange } from '../../../kit/change-dialog.tsx'
import { openDialog } from '../../../kit/dialogs.tsx'
import { type InputProps, type Options, SelectInput } from '../../../kit/inputs.tsx'
import { openForm } from '../../../kit/record-form.tsx'
import { SecretDialog } from '../../../kit/secret-dialog.tsx'
import { undo } from '../../../kit/undo.ts'
import { customerHref } from '../../../state/links.ts'
import { go } from '../../../state/router.ts'
import { may } from '../../../state/session.ts'
import { Field } from '../../../ui/field.tsx'
import { confirmUnblock, openBlockForm } from '../../blocks/block-changes.tsx'
import { entriesOf, remainingOf, scopeOf, titleOf } from '../data/limits.ts'
import type { CustomerData } from '../data/use-customer.ts'

// Every change of a customer, of its keys and of what it may use: what is asked, what is confirmed, and how it is undone.

/** createCustomer asks for a customer, and leads to its page, where keys are added. */
export function createCustomer(): void {
  openForm({
    title: 'New customer',
    operation: 'createCustomer',
    only: ['id', 'name', 'tier', 'time_zone'],
    typed: { time_zone: 'UTC' },
    views: {
      id: { hint: 'Its id in requests, in your database or billing. It cannot be changed later.' },
      name: { hint: 'By default, the id.' },
    },
    next: (body) => ({
      title: 'New customer',
      asked: { body },
      confirm: 'Create customer',
      done: `Customer ${body.id} was created.`,
      ...(may('admin') && { undo: ({ body: made }) => undo.customerCreated(made) }),
      onDone: ({ body: made }) => go(customerHref(made.id)),
      onUndone: () => go('/customers'),
    }),
  })
}

/** A change of fields of the customer's own record, at the version that is shown. */
function changed({ customer, reload }: CustomerData): Pick<Change<'changeCustomer'>, 'undo' | 'onDone'> {
  return { undo: ({ body }) => undo.customerChanged(customer, body), onDone: reload }
}

const target = ({ id, version }: Customer) => ({ params: { customer_id: id }, version })

/** editCustomer changes the record of a customer, and nothing that it may use. */
export function editCustomer(data: CustomerData): void {
  const { customer } = data
  openForm({
    title: 'Edit customer',
    operation: 'changeCustomer',
    without: ['tier', 'status'],
    record: customer,
    next: (body) => ({
      ...changed(data),
      title: 'Edit customer',
      asked: { ...target(customer), body: { ...body, name: body.name ?? customer.id } },
      confirm: 'Save',
      done: `${body.name ?? customer.id} was changed.`,
    }),
  })
}

/** changeTier moves a customer to another tier. Overrides stay, and take precedence. */
export function changeTier(data: CustomerData): void {
  const { customer, overrides } = data
  const hasOverrides = (overrides.data?.length ?? 0) > 0
  openForm({
    title: 'Change tier',
    operation: 'changeCustomer',
    only: ['tier'],
    record: customer,
    about: (
      <p class="small soft">
        Usage so far stays counted. {hasOverrides && 'The overrides of this customer stay, and take precedence.'}
      </p>
    ),
    next: (body) => ({
      ...changed(data),
      title: 'Change tier',
      asked: { ...target(customer), body },
      confirm: 'Change tier',
      done: body.tier ? `${customer.name} is on tier ${body.tier} now.` : `${customer.name} has no tier now.`,
    }),
  })
}

/** changeStatus suspends a customer, or activates it again. */
export function changeStatus(data: CustomerData): void {
  const { customer } = data
  const isActive = customer.status === 'active'
  confirmChange({
    ...changed(data),
    title: isActive ? `Suspend ${customer.name}` : `Activate ${customer.name}`,
    operation: 'changeCustomer',
    asked: { ...target(customer), body: { status: isActive ? 'suspended' : 'active' } },
    confirm: isActive ? 'Suspend' : 'Activate',
    isDanger: isActive,
    note: isActive && 'Every request is refused with status 403 until the customer is active again.',
    done: isActive ? `${customer.name} is suspended.` : `${customer.name} is active.`,
  })
}

/** removeCustomer removes a customer and all that belongs to it. Everything but the keys can be created again. */
export function removeCustomer({ customer, overrides, grants, blocks, limits }: CustomerData): void {
  const remaining = (grants.data ?? []).map((each) => ({ ...each, amount: remainingOf(limits.data, each.id) ?? 0 }))
  const belongings = { overrides: overrides.data ?? [], grants: remaining, blocks: blocks.data ?? [] }
  confirmChange({
    title: `Remove ${customer.name}`,
    operation: 'removeCustomer',
    asked: target(customer),
    confirm: 'Remove customer',
    isDanger: true,
    note: 'Its keys, overrides, grants and blocks are removed with it. Undo restores all but the keys: only their hashes are stored. To stop a customer for a while, suspend it.',
    done: `${customer.name} was removed.`,
    undo: () => undo.customerRemoved(customer, belongings),
    onDone: () => go('/customers'),
    onUndone: () => go(customerHref(customer.id)),
  })
}

/** grantBudget grants extra budget, once: it is used when a limit refuses. */
export function grantBudget({ customer, limits, reload }: CustomerData): void {
  const descriptors = new Set(['default', ...(limits.data ?? []).map(({ descriptor }) => descriptor)])
  const options: Options = [...descriptors].map((each) => [each, titleOf({ descriptor: each })])
  const params = { customer_id: customer.id }
  openForm({
    title: 'Grant extra budget',
    operation: 'createGrant',
    without: ['ticket'],
    first: ['amount'],
    typed: { descriptor: 'default' },
    about: <p class="small soft">It is used once, by all keys together, when the limit refuses. The limit stays.</p>,
    views: { descriptor: { input: (props) => <SelectInput {...props} options={options} />, hint: null } },
    next: (body) => ({
      title: 'Grant extra budget',
      asked: { params, body },
      confirm: 'Grant',
      reasonField: 'reason',
      done: `${body.amount.toLocaleString()} were granted.`,
      undo: ({ body: made }) => undo.grantCreated(customer.id, made),
      onDone: reload,
    }),
  })
}

export function removeGrant({ customer, limits, reload }: CustomerData, grant: Grant): void {
  const remaining = remainingOf(limits.data, grant.id) ?? 0
  confirmChange({
    title: `Revoke the grant for ${scopeOf(grant)}`,
    operation: 'removeGrant',
    asked: { params: { customer_id: customer.id, grant_id: grant.id }, version: grant.version },
    confirm: 'Revoke grant',
    isDanger: true,
    note: `${remaining.toLocaleString()} of ${grant.amount.toLocaleString()} remain. ${remaining > 0 ? 'Undo grants the rest again.' : 'Nothing remains to be undone.'}`,
    done: 'The grant was revoked.',
    undo: remaining > 0 ? () => undo.grantRemoved(customer.id, grant, remaining) : undefined,
    onDone: reload,
  })
}

export function removeOverride({ customer, reload }: CustomerData, override: Override): void {
  confirmChange({
    title: `Remove the override of ${scopeOf(override)}`,
    operation: 'removeOverride',
    asked: { params: { customer_id: customer.id, override_id: override.id }, version: override.version },
    confirm: 'Remove override',
    isDanger: true,
    note: 'The override before it, the tier or the rule applies again. Usage so far stays counted.',
    done: 'The override was removed.',
    undo: () => undo.overrideRemoved(customer.id, override),
    onDone: reload,
  })
}

/** blockCustomer refuses every request of a customer, until a time or until it is unblocked. */
export function blockCustomer({ customer, reload }: CustomerData): void {
  openBlockForm({ kind: 'customer', customer_id: customer.id }, { who: customer.name, isFixed: true, reload })
}

export function unblock({ customer, reload }: CustomerData, block: Block): void {
  confirmUnblock(block, customer.name, reload)
}

const KEY_KINDS: Options = [
  ['', 'Create a new one'],
  ['own', 'Use an existing one'],
]

/** addKey adds an API key: a new one, which is shown once, or one that exists elsewhere. */
export function addKey({ customer, reload }: CustomerData): void {
  openForm({
    title: 'Add key',
    operation: 'createKey',
    first: ['key'],
    about: ({ kind = '', ...typed }, set) => (
      <KeyKind value={kind} onChange={(chosen) => set({ ...typed, kind: chosen, key: '' })} />
    ),
    views: ({ kind }) => ({
      key: {
        isHidden: kind !== 'own',
        isNeeded: true,
        missing: 'Enter the key.',
        hint: 'Only a hash of it is stored, and its first characters.',
      },
      name: { hint: 'What it is for, such as “production”.' },
      tier: { label: 'Tier of the key', hint: 'By default, the tier of the customer.' },
    }),
    next: (body) => keyChange(customer, body, reload),
  })
}

const KeyKind = (props: InputProps) => (
  <Field label="Key">
    <SelectInput {...props} options={KEY_KINDS} />
  </Field>
)

function keyChange({ id }: Customer, body: NewKey, reload: () => void): Omit<Change<'createKey'>, 'operation'> {
  return {
    title: 'Add key',
    asked: { params: { customer_id: id }, body },
    confirm: 'Add key',
    note: body.key === undefined && 'The key is created when you confirm, and shown once.',
    done: 'The key was added.',
    undo: ({ body: made }) => undo.keyAdded(id, made),
    onDone: ({ body: { key } }) => {
      reload()
      if (key === null) return
      openDialog(<SecretDialog title="The new key" label="API key" value={key} hint="Send it to the customer." />)
    },
    onUndone: reload,
  }
}

export function revokeKey({ customer, reload }: CustomerData, key: ApiKey): void {
  confirmChange({
    title: `Revoke key ${key.prefix}…`,
    operation: 'revokeKey',
    asked: { params: { customer_id: customer.id, key_id: key.id }, version: key.version },
    confirm: 'Revoke key',
    isDanger: true,
    note: 'Requests with this key no longer belong to a customer. It cannot be undone: only a hash of the key is stored.',
    done: 'The key was revoked.',
    onDone: reload,
  })
}

const RESET = 'Usage is reset immediately, on every node. It cannot be undone.'

function reset(data: CustomerData, title: string, body: Change<'resetCounters'>['asked']['body'], about: string): void {
  confirmChange({
    title,
    operation: 'resetCounters',
    asked: { body },
    confirm: 'Reset',
    isDanger: true,
    note: `${about} ${RESET}`.trim(),
    done: 'The counters start from zero.',
    onDone: data.reload,
  })
}

/** resetCustomer gives the customer its whole budget again. */
export function resetCustomer(data: CustomerData): void {
  const { id, name } = data.customer
  reset(data, `Reset all counters of ${name}`, { customer_id: id }, 'All keys, all limits, and used grants.')
}

export function resetKey(data: CustomerData, keyId: string, title: string): void {
  reset(data, `Reset the counters of ${title}`, { api_key_id: keyId }, 'All limits of this key.')
}

export function resetLimit(data: CustomerData, limit: LimitState): void {
  const entries = entriesOf(limit, data.customer.id)
  const body = entries ? { domain: limit.domain, descriptors: [{ entries }] } : { customer_id: data.customer.id }
  reset(data, `Reset the counter of ${scopeOf(limit)}`, body, '')
}
