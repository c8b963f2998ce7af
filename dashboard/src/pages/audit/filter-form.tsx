import type { AuditEntry } from '../../api/operations.ts'
import { CustomerInput, optionsOf, SelectInput, SuggestInput, TextInput } from '../../kit/inputs.tsx'
import { setQuery } from '../../state/router.ts'
import { Field } from '../../ui/field.tsx'
import { ACTIONS, type AuditFilter, KINDS, NOUNS, type Span } from './audit-filter.ts'

const SPANS: readonly (readonly [Span, string])[] = [
  ['all', 'Any time'],
  ['day', 'Last 24 hours'],
  ['week', 'Last 7 days'],
  ['month', 'Last 30 days'],
  ['own', 'Between two times'],
]

/** set changes the filter in the address, and ends the search for one entry. */
const set = (changes: Readonly<Record<string, string>>): void => setQuery({ ...changes, at: undefined })

/** FilterForm shows the filter as fields. Each change is in the address immediately. */
export function FilterForm({ filter, seen }: { readonly filter: AuditFilter; readonly seen: readonly AuditEntry[] }) {
  const actors = optionsOf([...new Set(seen.map(({ actor }) => actor.name))])
  const kinds = KINDS.map((kind) => [kind, NOUNS[kind]] as const)
  const { actor, kind, action, customer, span, from, to } = filter
  const pick = (name: string) => (value: string) => set({ [name]: value })
  return (
    <search class="fields audit-filter">
      <Field label="Who">
        <SuggestInput value={actor} onChange={pick('actor')} options={actors} placeholder="Name or id of a token" />
      </Field>
      <Field label="What">
        <SelectInput
          value={kind}
          onChange={(chosen) => set({ kind: chosen, action: '' })}
          options={[['', 'Everything'], ...kinds]}
        />
      </Field>
      <Field label="Action">
        <SelectInput
          value={action}
          onChange={pick('action')}
          options={[['', 'Every action'], ...optionsOf(actionsOf(filter))]}
        />
      </Field>
      <Field label="Customer">
        <CustomerInput value={customer} onChange={pick('customer')} />
      </Field>
      <Field label="When">
        <SelectInput value={span} onChange={(chosen) => set({ span: chosen, from: '', to: '' })} options={SPANS} />
      </Field>
      {span === 'own' && (
        <Field label="From">
          <TextInput type="datetime-local" value={from} onChange={pick('from')} />
        </Field>
      )}
      {span === 'own' && (
        <Field label="To">
          <TextInput type="datetime-local" value={to} onChange={pick('to')} />
        </Field>
      )}
    </search>
  )
}

/** actionsOf offers those of the chosen kind, and the one of the address whatever it is. */
function actionsOf({ kind, action }: AuditFilter): readonly string[] {
  const known = ACTIONS.filter((each) => kind === '' || each.startsWith(`${kind}.`))
  return action === '' || known.includes(action) ? known : [action, ...known]
}
