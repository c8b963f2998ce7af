import { fullTime } from '../../format/time.ts'
import { Field } from '../../ui/field.tsx'
import { endOf, endPresets, inputOf } from './end-times.ts'

interface EndFieldProps {
  /** As the input holds it; empty: no end. */
  readonly value: string
  readonly isChecked: boolean
  readonly onChange: (value: string) => void
}

/** EndField asks when something ends by itself, with the answers that are given most. */
export function EndField({ value, isChecked, onChange }: EndFieldProps) {
  const nowMs = Date.now()
  const end = endOf(value, nowMs)
  const wrong = isChecked && end.kind === 'wrong' ? end.why : undefined
  const hint = end.kind === 'at' ? `It ends by itself on ${fullTime(end.ms)}.` : 'It stays until somebody removes it.'
  return (
    <div class="stack close">
      <Field label="Ends" hint={end.kind === 'wrong' ? undefined : hint} wrong={wrong}>
        <input type="datetime-local" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
      </Field>
      <div class="row wrap" role="group" aria-label="Common times">
        {endPresets(nowMs).map(({ text, at }) => (
          <button
            key={text}
            type="button"
            class="button small"
            aria-pressed={inputOf(at) === value}
            onClick={() => onChange(inputOf(at))}
          >
            {text}
          </button>
        ))}
      </div>
    </div>
  )
}
