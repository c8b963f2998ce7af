import { useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { EndField } from './end-field.tsx'
import { endField, endOf } from './end-times.ts'
import { FormFooter } from './form-footer.tsx'
import type { FormProps } from './form-props.ts'
import { titleOf } from './limits.ts'
import { undo } from './undo.ts'
import { wholeNumber } from './whole-number.ts'

/** GrantForm gives extra budget, once: it is used when a limit refuses. */
export function GrantForm({ customer, data, onClose, onDone }: FormProps) {
  const descriptors = [...new Set(['default', ...(data.limits.data ?? []).map(({ descriptor }) => descriptor)])]
  const [descriptor, setDescriptor] = useState('default')
  const [typed, setTyped] = useState('')
  const [end, setEnd] = useState('')
  const [isChecked, setChecked] = useState(false)
  const [asked, setAsked] = useState<Asked<'createGrant'>>()
  const amount = wholeNumber(typed)

  if (asked !== undefined) {
    return (
      <ChangeDialog
        title="Grant extra budget"
        operation="createGrant"
        asked={asked}
        confirm="Grant"
        isReasonKept
        said={`${asked.body.amount.toLocaleString()} were granted.`}
        undo={({ body }) => undo.grantMade(customer.id, body)}
        onBack={() => setAsked(undefined)}
        onClose={onClose}
        onDone={onDone}
      />
    )
  }
  const preview = (): void => {
    setChecked(true)
    const until = endOf(end, Date.now())
    if (amount === undefined || until.kind === 'wrong') return
    setAsked({ params: { customer_id: customer.id }, body: { amount, descriptor, expires_at: endField(until) } })
  }
  return (
    <Dialog title="Grant extra budget" footer={<FormFooter onClose={onClose} />} onClose={onClose} onSubmit={preview}>
      <p class="small soft">It is used when the limit refuses, by all keys together, once. The limit itself stays.</p>
      <div class="fields">
        <Field label="Amount" wrong={isChecked && amount === undefined ? 'A whole number from 1 on.' : undefined}>
          <input autofocus inputMode="numeric" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </Field>
        <Field label="For">
          <select value={descriptor} onChange={(event) => setDescriptor(event.currentTarget.value)}>
            {descriptors.map((each) => (
              <option key={each} value={each}>
                {titleOf({ descriptor: each })}
              </option>
            ))}
          </select>
        </Field>
      </div>
      <EndField value={end} isChecked={isChecked} onChange={setEnd} />
    </Dialog>
  )
}
