import { useState } from 'preact/hooks'
import type { NewWebhook } from '../../api/operations.ts'
import { Button } from '../../ui/button.tsx'
import { CustomerField } from '../../ui/customer-field.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { type Faults, newWebhook, type WebhookFields } from './webhook-fields.ts'

interface WebhookFormProps {
  readonly title: string
  readonly fields: WebhookFields
  readonly onChange: (fields: WebhookFields) => void
  readonly onReady: (body: NewWebhook) => void
  readonly onClose: () => void
}

const typedIn = (event: Event): string => (event.currentTarget as HTMLInputElement).value

/** WebhookForm asks where events are sent, and which. */
export function WebhookForm({ title, fields, onChange, onReady, onClose }: WebhookFormProps) {
  const [faults, setFaults] = useState<Faults>({})
  const set = (changes: Partial<WebhookFields>): void => onChange({ ...fields, ...changes })
  const submit = (): void => {
    const made = newWebhook(fields)
    if ('faults' in made) setFaults(made.faults)
    else onReady(made.body)
  }
  const footer = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" isSubmit>
        Preview
      </Button>
    </>
  )
  return (
    <Dialog title={title} footer={footer} onClose={onClose} onSubmit={submit}>
      <Field label="Address" hint="Events are sent there by POST, signed." wrong={faults.url}>
        <input
          type="url"
          placeholder="https://"
          spellcheck={false}
          value={fields.url}
          onInput={(event: Event) => set({ url: typedIn(event) })}
        />
      </Field>
      <Field label="Description" hint="Optional: for whom it is.">
        <input
          value={fields.description}
          maxLength={500}
          onInput={(event: Event) => set({ description: typedIn(event) })}
        />
      </Field>
      <div class="fields">
        <Field label="Thresholds" hint="Percent of a quota at which an event is sent." wrong={faults.thresholds}>
          <input value={fields.thresholds} onInput={(event: Event) => set({ thresholds: typedIn(event) })} />
        </Field>
        <CustomerField
          label="Only for a customer"
          hint="Optional: without one, it hears of all."
          value={fields.customer}
          onChange={(customer) => set({ customer })}
        />
      </div>
      <label class="row">
        <input
          type="checkbox"
          checked={fields.isEnabled}
          onChange={(event) => set({ isEnabled: event.currentTarget.checked })}
        />
        Send events
      </label>
    </Dialog>
  )
}
