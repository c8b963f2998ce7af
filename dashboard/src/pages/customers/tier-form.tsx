import { useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TierField } from './customer-fields.tsx'
import { FormFooter } from './form-footer.tsx'
import type { FormProps } from './form-props.ts'
import { undo } from './undo.ts'

/** TierForm moves a customer to another tier. Overrides stay, and come before it. */
export function TierForm({ customer, data, onClose, onDone }: FormProps) {
  const [tier, setTier] = useState(customer.tier ?? '')
  const [asked, setAsked] = useState<Asked<'changeCustomer'>>()
  if (asked !== undefined) {
    return (
      <ChangeDialog
        title="Change tier"
        operation="changeCustomer"
        asked={asked}
        confirm="Change tier"
        said={tier === '' ? `${customer.name} has no tier now.` : `${customer.name} is on tier ${tier} now.`}
        undo={({ body }) => undo.customerChanged(customer, body)}
        onBack={() => setAsked(undefined)}
        onClose={onClose}
        onDone={onDone}
      />
    )
  }
  const overrides = data.overrides.data?.length ?? 0
  const preview = (): void =>
    setAsked({
      params: { customer_id: customer.id },
      body: { tier: tier === '' ? null : tier },
      version: customer.version,
    })
  return (
    <Dialog title="Change tier" footer={<FormFooter onClose={onClose} />} onClose={onClose} onSubmit={preview}>
      <p class="small soft">
        What was used stays used. {overrides > 0 && 'The overrides of this customer stay, and come before the tier.'}
      </p>
      <TierField value={tier} onChange={setTier} />
    </Dialog>
  )
}
