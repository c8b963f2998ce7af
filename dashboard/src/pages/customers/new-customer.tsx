import { useRef, useState } from 'preact/hooks'
import type { Answer, Asked } from '../../api/client.ts'
import { may } from '../../app/session.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { TierField, TimeZoneField } from './customer-fields.tsx'
import { FormFooter } from './form-footer.tsx'
import { undo } from './undo.ts'

interface NewCustomerProps {
  readonly onClose: () => void
  /** With the id of the customer that was made; without one when that was taken back. */
  readonly onDone: (id: string | undefined) => void
}

/** NewCustomer makes a customer, and leads to its page, where keys are added. */
export function NewCustomer({ onClose, onDone }: NewCustomerProps) {
  const [id, setId] = useState('')
  const [name, setName] = useState('')
  const [tier, setTier] = useState('')
  const [zone, setZone] = useState('UTC')
  const [wrong, setWrong] = useState<string>()
  const [asked, setAsked] = useState<Asked<'createCustomer'>>()
  const isUndone = useRef(false)

  if (asked !== undefined) {
    return (
      <ChangeDialog<'createCustomer'>
        title="New customer"
        operation="createCustomer"
        asked={asked}
        confirm="Make customer"
        said={`Customer ${asked.body.id} was made.`}
        {...(may('admin') && {
          undo: async ({ body }: Answer<'createCustomer'>) => {
            await undo.customerMade(body)
            isUndone.current = true
          },
        })}
        onBack={() => setAsked(undefined)}
        onClose={onClose}
        onDone={({ body }) => onDone(isUndone.current ? undefined : body.id)}
      />
    )
  }
  const next = (): void => {
    if (id.trim() === '') {
      setWrong('A customer needs an id.')
      return
    }
    setAsked({
      body: {
        id: id.trim(),
        ...(name.trim() !== '' && { name: name.trim() }),
        ...(tier !== '' && { tier }),
        ...(zone.trim() !== '' && { time_zone: zone.trim() }),
      },
    })
  }
  return (
    <Dialog title="New customer" footer={<FormFooter onClose={onClose} />} onClose={onClose} onSubmit={next}>
      <Field
        label="Id"
        wrong={wrong}
        hint="As requests, your database or your billing name it. It cannot be changed later."
      >
        <input autofocus value={id} maxLength={200} onInput={(event) => setId(event.currentTarget.value)} />
      </Field>
      <Field label="Name" hint="What people call it. Without one, it is the id.">
        <input value={name} maxLength={200} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <div class="fields">
        <TierField value={tier} onChange={setTier} />
        <TimeZoneField value={zone} onChange={setZone} />
      </div>
    </Dialog>
  )
}
