import { useState } from 'preact/hooks'
import type { NewBlock } from '../../api/operations.ts'
import { Button } from '../../ui/button.tsx'
import { CustomerField } from '../../ui/customer-field.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Choice } from '../../ui/parts.tsx'
import { UntilField } from '../../ui/until-field.tsx'
import { type BlockFields, type Faults, type Kind, newBlock } from './block-fields.ts'

const KINDS: readonly (readonly [Kind, string])[] = [
  ['customer', 'Customer'],
  ['key', 'API key'],
  ['cidr', 'Address range'],
]

interface BlockFormProps {
  readonly fields: BlockFields
  readonly onChange: (fields: BlockFields) => void
  readonly onClose: () => void
  readonly onReady: (body: NewBlock) => void
}

const typedIn = (event: Event): string => (event.currentTarget as HTMLInputElement).value

/** BlockForm asks who is to be refused, until when, and how they are answered. */
export function BlockForm({ fields, onChange, onClose, onReady }: BlockFormProps) {
  const [faults, setFaults] = useState<Faults>({})
  const set = (changes: Partial<BlockFields>): void => onChange({ ...fields, ...changes })
  const submit = (): void => {
    const made = newBlock(fields)
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
    <Dialog title="Block somebody" footer={footer} onClose={onClose} onSubmit={submit}>
      <Choice label="Who" options={KINDS} value={fields.kind} onChoose={(kind) => set({ kind, who: '' })} />
      <WhoField fields={fields} wrong={faults.who} onChange={(who) => set({ who })} />
      <div class="fields">
        <UntilField
          options={['hour', 'day', 'week', 'month', 'time', 'never']}
          until={fields.until}
          typed={fields.endsAt}
          wrong={faults.endsAt}
          onChange={(until, endsAt) => set({ until, endsAt })}
        />
      </div>
      <Field label="Reason" hint="Others read it in the list, and in the audit log.">
        <input value={fields.reason} maxLength={500} onInput={(event) => set({ reason: typedIn(event) })} />
      </Field>
      <div class="fields">
        <Field label="Status" hint="What callers are answered: 403, or another from 400 to 599." wrong={faults.status}>
          <input inputMode="numeric" value={fields.status} onInput={(event) => set({ status: typedIn(event) })} />
        </Field>
        <Field label="Body" hint="Optional: the text of the answer.">
          <input value={fields.body} maxLength={4096} onInput={(event) => set({ body: typedIn(event) })} />
        </Field>
      </div>
    </Dialog>
  )
}

interface WhoFieldProps {
  readonly fields: BlockFields
  readonly wrong: string | undefined
  readonly onChange: (who: string) => void
}

function WhoField({ fields: { kind, who }, wrong, onChange }: WhoFieldProps) {
  if (kind === 'customer') {
    return <CustomerField value={who} wrong={wrong} hint="All keys of the customer are refused." onChange={onChange} />
  }
  const isKey = kind === 'key'
  return (
    <Field
      label={isKey ? 'API key' : 'Address range'}
      hint={
        isKey
          ? 'The key itself, which is sent once and not kept, or its id.'
          : 'Such as 198.51.100.0/24, 2001:db8::/32, or one address.'
      }
      wrong={wrong}
    >
      <input
        value={who}
        autoComplete="off"
        spellcheck={false}
        class="mono"
        onInput={(event: Event) => onChange(typedIn(event))}
      />
    </Field>
  )
}
