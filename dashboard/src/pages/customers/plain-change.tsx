import { useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import type { ApiKey, Block, Customer, Grant, Override } from '../../api/operations.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import type { FormProps } from './form-props.ts'
import { leftOf, scopeOf } from './limits.ts'
import type { Opened } from './opened.ts'
import { undo } from './undo.ts'

type Plain = Extract<
  Opened,
  { readonly kind: 'status' | 'unblock' | 'revoke-key' | 'remove-override' | 'remove-grant' }
>

/** PlainChange is a change that needs no form: it is shown, explained and done. */
export function PlainChange({ opened, ...props }: FormProps & { readonly opened: Plain }) {
  switch (opened.kind) {
    case 'status':
      return <StatusChange {...props} />
    case 'unblock':
      return <Unblock block={opened.block} {...props} />
    case 'revoke-key':
      return <RevokeKey apiKey={opened.key} {...props} />
    case 'remove-override':
      return <RemoveOverride override={opened.override} {...props} />
    case 'remove-grant':
      return <RemoveGrant grant={opened.grant} {...props} />
  }
}

function StatusChange({ customer, onClose, onDone }: FormProps) {
  const [before] = useState<Customer>(customer)
  const isActive = before.status === 'active'
  const [asked] = useState<Asked<'changeCustomer'>>({
    params: { customer_id: before.id },
    body: { status: isActive ? 'suspended' : 'active' },
    version: before.version,
  })
  return (
    <ChangeDialog
      title={isActive ? `Suspend ${before.name}` : `Make ${before.name} active`}
      operation="changeCustomer"
      asked={asked}
      confirm={isActive ? 'Suspend' : 'Make active'}
      isDanger={isActive}
      note={isActive ? 'Everything is refused with status 403 until the customer is active again.' : undefined}
      said={isActive ? `${before.name} is suspended.` : `${before.name} is active.`}
      undo={({ body }) => undo.customerChanged(before, body)}
      onClose={onClose}
      onDone={onDone}
    />
  )
}

function Unblock({ block, customer, onClose, onDone }: FormProps & { readonly block: Block }) {
  const [asked] = useState<Asked<'removeBlock'>>({ params: { block_id: block.id }, version: block.version })
  return (
    <ChangeDialog
      title={`Unblock ${customer.name}`}
      operation="removeBlock"
      asked={asked}
      confirm="Unblock"
      said={`${customer.name} is not blocked any more.`}
      undo={() => undo.blockRemoved(block)}
      onClose={onClose}
      onDone={onDone}
    />
  )
}

function RevokeKey({ apiKey, customer, onClose, onDone }: FormProps & { readonly apiKey: ApiKey }) {
  const [asked] = useState<Asked<'revokeKey'>>({
    params: { customer_id: customer.id, key_id: apiKey.id },
    version: apiKey.version,
  })
  return (
    <ChangeDialog
      title={`Revoke key ${apiKey.prefix}…`}
      operation="revokeKey"
      asked={asked}
      confirm="Revoke key"
      isDanger
      note="Requests with this key lead to no customer any more. It cannot be undone: nobody keeps the key itself."
      said="The key was revoked."
      onClose={onClose}
      onDone={onDone}
    />
  )
}

function RemoveOverride({ override, customer, onClose, onDone }: FormProps & { readonly override: Override }) {
  const [asked] = useState<Asked<'removeOverride'>>({
    params: { customer_id: customer.id, override_id: override.id },
    version: override.version,
  })
  return (
    <ChangeDialog
      title={`Remove the override of ${scopeOf(override)}`}
      operation="removeOverride"
      asked={asked}
      confirm="Remove override"
      isDanger
      note="The override before it, the tier or the rule applies again. What was used stays used."
      said="The override was removed."
      undo={() => undo.overrideRemoved(customer.id, override)}
      onClose={onClose}
      onDone={onDone}
    />
  )
}

function RemoveGrant({ grant, customer, data, onClose, onDone }: FormProps & { readonly grant: Grant }) {
  const [left] = useState(leftOf(data.limits.data ?? [], grant.id) ?? 0)
  const [asked] = useState<Asked<'removeGrant'>>({
    params: { customer_id: customer.id, grant_id: grant.id },
    version: grant.version,
  })
  return (
    <ChangeDialog
      title={`Take back the grant for ${scopeOf(grant)}`}
      operation="removeGrant"
      asked={asked}
      confirm="Take back"
      isDanger
      note={`${left.toLocaleString()} of ${grant.amount.toLocaleString()} are left. ${left > 0 ? 'Undo grants what is left again.' : 'There is nothing left to undo.'}`}
      said="The grant was taken back."
      {...(left > 0 && { undo: () => undo.grantRemoved(customer.id, grant, left) })}
      onClose={onClose}
      onDone={onDone}
    />
  )
}
