import { useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { TimeZoneField } from './customer-fields.tsx'
import { FormFooter } from './form-footer.tsx'
import type { FormProps } from './form-props.ts'
import { metadataOf, metadataText } from './metadata.ts'
import { undo } from './undo.ts'

/** EditForm changes what is known of a customer, and nothing that it may do. */
export function EditForm({ customer, onClose, onDone }: FormProps) {
  const [name, setName] = useState(customer.name)
  const [zone, setZone] = useState(customer.time_zone)
  const [anchor, setAnchor] = useState(customer.period_anchor ?? '')
  const [notes, setNotes] = useState(metadataText(customer.metadata))
  const [asked, setAsked] = useState<Asked<'changeCustomer'>>()
  const { metadata, wrong } = metadataOf(notes)

  if (asked !== undefined) {
    return (
      <ChangeDialog
        title="Edit customer"
        operation="changeCustomer"
        asked={asked}
        confirm="Save"
        said={`${name} was changed.`}
        undo={({ body }) => undo.customerChanged(customer, body)}
        onBack={() => setAsked(undefined)}
        onClose={onClose}
        onDone={onDone}
      />
    )
  }
  const preview = (): void => {
    if (wrong !== undefined) return
    const body = { name: name.trim() || customer.id, time_zone: zone.trim(), period_anchor: anchor || null, metadata }
    setAsked({ params: { customer_id: customer.id }, body, version: customer.version })
  }
  return (
    <Dialog title="Edit customer" footer={<FormFooter onClose={onClose} />} onClose={onClose} onSubmit={preview}>
      <Field label="Name">
        <input autofocus value={name} maxLength={200} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <div class="fields">
        <TimeZoneField value={zone} onChange={setZone} />
        <Field label="Periods begin on" hint="The first day of a billing period. It may be left out.">
          <input type="date" value={anchor} onInput={(event) => setAnchor(event.currentTarget.value)} />
        </Field>
      </div>
      <Field label="Notes" wrong={wrong} hint="A line for each, such as “billing id: cus_123”.">
        <textarea value={notes} onInput={(event) => setNotes(event.currentTarget.value)} />
      </Field>
    </Dialog>
  )
}
