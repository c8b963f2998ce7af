import { localInput, UNTIL_TEXTS, type Until } from '../format/until.ts'
import { Field } from './field.tsx'

interface UntilFieldProps {
  readonly label?: string
  readonly options: readonly Until[]
  readonly until: Until
  readonly typed: string
  readonly wrong?: string | undefined
  readonly onChange: (until: Until, typed: string) => void
}

/** UntilField asks when something ends: one of a few spans, or a time. */
export function UntilField({ label = 'Until', options, until, typed, wrong, onChange }: UntilFieldProps) {
  const choose = (event: Event): void => {
    const chosen = (event.currentTarget as HTMLSelectElement).value as Until
    onChange(chosen, chosen === 'time' && typed === '' ? localInput(Date.now() + 86_400_000) : typed)
  }
  return (
    <>
      <Field label={label}>
        <select value={until} onChange={choose}>
          {options.map((each) => (
            <option key={each} value={each}>
              {UNTIL_TEXTS[each]}
            </option>
          ))}
        </select>
      </Field>
      {until === 'time' && (
        <Field label="Ends at" hint="In your time zone." wrong={wrong}>
          <input
            type="datetime-local"
            value={typed}
            onInput={(event: Event) => onChange(until, (event.currentTarget as HTMLInputElement).value)}
          />
        </Field>
      )}
    </>
  )
}
