import { useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { EndField } from './end-field.tsx'
import { endField, endOf } from './end-times.ts'
import { FormFooter } from './form-footer.tsx'
import type { FormProps } from './form-props.ts'
import { undo } from './undo.ts'

/** BlockForm refuses everything of a customer, until a date or until somebody unblocks it. */
export function BlockForm({ customer, onClose, onDone }: FormProps) {
  const [end, setEnd] = useState('')
  const [status, setStatus] = useState('403')
  const [message, setMessage] = useState('')
  const [isChecked, setChecked] = useState(false)
  const [asked, setAsked] = useState<Asked<'createBlock'>>()

  if (asked !== undefined) {
    return (
      <ChangeDialog
        title={`Block ${customer.name}`}
        operation="createBlock"
        asked={asked}
        confirm="Block"
        isDanger
        isReasonKept
        said={`${customer.name} is blocked.`}
        undo={({ body }) => undo.blockMade(body)}
        onBack={() => setAsked(undefined)}
        onClose={onClose}
        onDone={onDone}
      />
    )
  }
  const preview = (): void => {
    setChecked(true)
    const until = endOf(end, Date.now())
    if (until.kind === 'wrong') return
    const body = {
      customer_id: customer.id,
      status: Number(status),
      ...(message !== '' && { body: message }),
      expires_at: endField(until),
    }
    setAsked({ body })
  }
  return (
    <Dialog
      title={`Block ${customer.name}`}
      footer={<FormFooter onClose={onClose} />}
      onClose={onClose}
      onSubmit={preview}
    >
      <p class="small soft">
        Every request of this customer is refused at once, on every node, before anything is counted.
      </p>
      <EndField value={end} isChecked={isChecked} onChange={setEnd} />
      <div class="fields">
        <Field label="Answered with status">
          <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
            <option value="403">403 Forbidden</option>
            <option value="402">402 Payment Required</option>
            <option value="429">429 Too Many Requests</option>
          </select>
        </Field>
        <Field label="Message to the caller" hint="It may be left out.">
          <input value={message} maxLength={1000} onInput={(event) => setMessage(event.currentTarget.value)} />
        </Field>
      </div>
    </Dialog>
  )
}
