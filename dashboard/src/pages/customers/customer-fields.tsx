import { Field } from '../../ui/field.tsx'
import { useTierNames } from './use-tier-names.ts'

interface FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** TierField chooses a tier that is known, or none. */
export function TierField({ value, onChange, label = 'Tier' }: FieldProps & { readonly label?: string }) {
  const tiers = useTierNames()
  const known = value === '' || tiers.includes(value) ? tiers : [...tiers, value]
  return (
    <Field label={label} hint="Without a tier, the rules themselves apply.">
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">None</option>
        {known.map((tier) => (
          <option key={tier} value={tier}>
            {tier}
          </option>
        ))}
      </select>
    </Field>
  )
}

const ZONES = Intl.supportedValuesOf('timeZone')

/** TimeZoneField takes the name of a zone; browsers offer those they know. */
export function TimeZoneField({ value, onChange }: FieldProps) {
  return (
    <>
      <Field label="Time zone" hint="Days and months of calendar quotas begin in it.">
        <input list="time-zones" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
      </Field>
      <datalist id="time-zones">
        {ZONES.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  )
}
