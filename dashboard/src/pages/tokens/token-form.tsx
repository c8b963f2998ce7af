import { useState } from 'preact/hooks'
import type { NewToken } from '../../api/operations.ts'
import { type Until, untilTime } from '../../format/until.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { UntilField } from '../../ui/until-field.tsx'

export interface TokenFields {
  readonly name: string
  readonly role: NewToken['role']
  readonly until: Until
  readonly endsAt: string
}

export const NO_FIELDS: TokenFields = { name: '', role: 'viewer', until: 'quarter', endsAt: '' }

const ROLES: readonly (readonly [NewToken['role'], string])[] = [
  ['viewer', 'viewer: may look'],
  ['operator', 'operator: changes customers, blocks and switches'],
  ['admin', 'admin: changes everything, tokens too'],
]

interface TokenFormProps {
  readonly fields: TokenFields
  readonly onChange: (fields: TokenFields) => void
  readonly onReady: (body: NewToken) => void
  readonly onClose: () => void
}

/** TokenForm asks for whom a token is, what it may do, and until when. */
export function TokenForm({ fields, onChange, onReady, onClose }: TokenFormProps) {
  const [isTried, setTried] = useState(false)
  const set = (changes: Partial<TokenFields>): void => onChange({ ...fields, ...changes })
  const expires_at = untilTime(fields.until, fields.endsAt)
  const hasName = fields.name.trim() !== ''
  const submit = (): void => {
    setTried(true)
    if (!hasName || expires_at === undefined) return
    onReady({ name: fields.name.trim(), role: fields.role, ...(expires_at && { expires_at }) })
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
    <Dialog title="Make a token" footer={footer} onClose={onClose} onSubmit={submit}>
      <Field
        label="Name"
        hint="For whom or what it is. It stands in the audit log."
        wrong={isTried && !hasName ? 'Give it a name.' : undefined}
      >
        <input
          value={fields.name}
          maxLength={100}
          onInput={(event: Event) => set({ name: (event.currentTarget as HTMLInputElement).value })}
        />
      </Field>
      <Field label="Role">
        <select
          value={fields.role}
          onChange={(event: Event) => {
            set({ role: (event.currentTarget as HTMLSelectElement).value as NewToken['role'] })
          }}
        >
          {ROLES.map(([role, text]) => (
            <option key={role} value={role}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      <div class="fields">
        <UntilField
          label="Good for"
          options={['day', 'month', 'quarter', 'year', 'time', 'never']}
          until={fields.until}
          typed={fields.endsAt}
          wrong={isTried && expires_at === undefined ? 'Choose a time that is still to come.' : undefined}
          onChange={(until, endsAt) => set({ until, endsAt })}
        />
      </div>
    </Dialog>
  )
}
