import { useEffect, useState } from 'preact/hooks'
import { Field } from '../../ui/field.tsx'
import { BOUNDS, isWithin, type NumberName, type PlaygroundSettings } from './settings.ts'

interface NumberFieldProps {
  readonly name: NumberName
  readonly label: string
  readonly hint: string
  readonly settings: PlaygroundSettings
  readonly onChange: (changes: Partial<PlaygroundSettings>) => void
}

/** NumberField keeps what is typed; a number that may not be used changes nothing, and says why. */
export function NumberField({ name, label, hint, settings, onChange }: NumberFieldProps) {
  const value = settings[name]
  const [typed, setTyped] = useState(String(value))
  const [least, most] = BOUNDS[name]
  const isRight = typed.trim() !== '' && isWithin(name, Number(typed))
  useEffect(() => {
    setTyped((before) => (before.trim() !== '' && Number(before) === value ? before : String(value)))
  }, [value])
  const type = (text: string): void => {
    setTyped(text)
    if (text.trim() !== '' && isWithin(name, Number(text))) onChange({ [name]: Number(text) })
  }
  return (
    <Field label={label} hint={hint} wrong={isRight ? undefined : `A whole number from ${least} to ${most}.`}>
      <input
        type="number"
        inputMode="numeric"
        min={least}
        max={most}
        value={typed}
        onInput={(event) => type(event.currentTarget.value)}
      />
    </Field>
  )
}
