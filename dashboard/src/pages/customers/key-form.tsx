import { useRef, useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { TierField } from './customer-fields.tsx'
import { FormFooter } from './form-footer.tsx'
import type { FormProps } from './form-props.ts'
import { KeyShown } from './key-shown.tsx'
import { undo } from './undo.ts'

/** KeyForm adds an API key: one that is made by the server and shown once, or one of the customer's own. */
export function KeyForm({ customer, onClose, onDone }: FormProps) {
  const [name, setName] = useState('')
  const [isOwn, setOwn] = useState(false)
  const [key, setKey] = useState('')
  const [tier, setTier] = useState('')
  const [isChecked, setChecked] = useState(false)
  const [asked, setAsked] = useState<Asked<'createKey'>>()
  const [made, setMade] = useState<string>()
  const isShown = useRef(false)

  if (made !== undefined) return <KeyShown apiKey={made} onClose={onClose} />
  if (asked !== undefined) {
    return (
      <ChangeDialog
        title="Add key"
        operation="createKey"
        asked={asked}
        confirm="Add key"
        {...(!isOwn && { note: 'The key is made when you confirm, and shown once.' })}
        said="The key was added."
        undo={({ body }) => undo.keyAdded(customer.id, body)}
        onBack={() => setAsked(undefined)}
        // A key that was made is shown first, and what shows it is closed then.
        onClose={() => isShown.current || onClose()}
        onDone={({ body }) => {
          onDone()
          isShown.current = body.key !== null
          if (body.key !== null) setMade(body.key)
        }}
      />
    )
  }
  const preview = (): void => {
    setChecked(true)
    if (isOwn && key.trim() === '') return
    const body = {
      ...(name.trim() !== '' && { name: name.trim() }),
      ...(tier !== '' && { tier }),
      ...(isOwn && { key: key.trim() }),
    }
    setAsked({ params: { customer_id: customer.id }, body })
  }
  return (
    <Dialog title="Add key" footer={<FormFooter onClose={onClose} />} onClose={onClose} onSubmit={preview}>
      <Field label="Name" hint="What it is for, such as “production”.">
        <input autofocus value={name} maxLength={200} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <div class="fields">
        <Field label="Key">
          <select value={isOwn ? 'own' : 'new'} onChange={(event) => setOwn(event.currentTarget.value === 'own')}>
            <option value="new">Make a new one</option>
            <option value="own">One that exists already</option>
          </select>
        </Field>
        <TierField label="Own tier" value={tier} onChange={setTier} />
      </div>
      {isOwn && (
        <Field
          label="The key itself"
          hint="Only a hash of it is kept, and its first characters."
          wrong={isChecked && key.trim() === '' ? 'The key is missing.' : undefined}
        >
          <input class="mono" autoComplete="off" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
        </Field>
      )}
    </Dialog>
  )
}
