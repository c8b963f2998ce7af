import type { AuditEntry } from '../../api/operations.ts'
import { setQuery } from '../../app/router.ts'
import { CustomerField } from '../../ui/customer-field.tsx'
import { Field } from '../../ui/field.tsx'
import { ACTIONS, type AuditFilter, KINDS, NOUNS, type Span } from './audit-filter.ts'

const SPANS: readonly (readonly [Span, string])[] = [
  ['all', 'Any time'],
  ['day', 'Last 24 hours'],
  ['week', 'Last 7 days'],
  ['month', 'Last 30 days'],
  ['own', 'Between two times'],
]

/** set changes the filter in the address; what was looked for in it is over. */
const set = (changes: Readonly<Record<string, string>>): void => setQuery({ ...changes, at: undefined })
const typedIn = (event: Event): string => (event.currentTarget as HTMLInputElement).value

/** FilterForm is the filter as fields. Each change is in the address at once. */
export function FilterForm({ filter, seen }: { readonly filter: AuditFilter; readonly seen: readonly AuditEntry[] }) {
  const actors = [...new Set(seen.map(({ actor }) => actor.name))]
  return (
    <search class="fields audit-filter">
      <Field label="Who">
        <input
          list="audit-actors"
          placeholder="Name or id of a token"
          value={filter.actor}
          onInput={(event: Event) => set({ actor: typedIn(event) })}
        />
      </Field>
      <datalist id="audit-actors">
        {actors.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Field label="What">
        <select value={filter.kind} onChange={(event: Event) => set({ kind: typedIn(event), action: '' })}>
          <option value="">Everything</option>
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {NOUNS[kind]}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Action">
        <select value={filter.action} onChange={(event: Event) => set({ action: typedIn(event) })}>
          <option value="">Every action</option>
          {actionsOf(filter).map((action) => (
            <option key={action} value={action}>
              {action}
            </option>
          ))}
        </select>
      </Field>
      <CustomerField value={filter.customer} onChange={(customer) => set({ customer })} />
      <Field label="When">
        <select value={filter.span} onChange={(event: Event) => set({ span: typedIn(event), from: '', to: '' })}>
          {SPANS.map(([span, text]) => (
            <option key={span} value={span}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      {filter.span === 'own' && (
        <>
          <Field label="From">
            <input
              type="datetime-local"
              value={filter.from}
              onInput={(event: Event) => set({ from: typedIn(event) })}
            />
          </Field>
          <Field label="To">
            <input type="datetime-local" value={filter.to} onInput={(event: Event) => set({ to: typedIn(event) })} />
          </Field>
        </>
      )}
    </search>
  )
}

/** actionsOf offers those of the kind that is chosen, and the one of the address whatever it is. */
function actionsOf({ kind, action }: AuditFilter): readonly string[] {
  const known = ACTIONS.filter((each) => kind === '' || each.startsWith(`${kind}.`))
  return action === '' || known.includes(action) ? known : [action, ...known]
}
