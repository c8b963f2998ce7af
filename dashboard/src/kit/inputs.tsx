import { useEffect, useId, useState } from 'preact/hooks'
import { ask } from '../api/client.ts'
import type { Customer } from '../api/operations.ts'
import { endPresets, inputOf, type PresetName } from './end-times.ts'
import { useResource } from './use-resource.ts'

/** InputProps is what an input of a form receives: what was typed, and what Field adds for its label. */
export interface InputProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly [attribute: string]: unknown
}

type Typed = { readonly currentTarget: { readonly value: string } }

/** TextInput is an input of one line; `input` are further attributes, such as a type. */
export function TextInput({ value, onChange, ...rest }: InputProps) {
  return <input {...rest} value={value} onInput={(event: Typed) => onChange(event.currentTarget.value)} />
}

export function AreaInput({ value, onChange, ...rest }: InputProps) {
  return <textarea {...rest} value={value} onInput={(event: Typed) => onChange(event.currentTarget.value)} />
}

export type Options = readonly (readonly [value: string, text: string])[]

/** SelectInput chooses one of a few values. */
export function SelectInput({ value, onChange, options, ...rest }: InputProps & { readonly options: Options }) {
  return (
    <select {...rest} value={value} onChange={(event: Typed) => onChange(event.currentTarget.value)}>
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** SuggestInput takes any text, and offers some. */
export function SuggestInput({ options, ...rest }: InputProps & { readonly options: Options }) {
  const list = useId()
  return (
    <>
      <TextInput {...rest} list={list} />
      <datalist id={list}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </datalist>
    </>
  )
}

/** optionsOf offers values as they are. */
export const optionsOf = (values: readonly string[]): Options => values.map((each) => [each, each])

/** useTierNames returns the tiers of the rules and of the API, each once, and `value` if it is another. */
export function useTierNames(value: string): readonly string[] {
  const tiers = useResource('tiers in force', async (signal) => (await ask('listTiersInForce', { signal })).body.tiers)
  return [...new Set([...(tiers.data ?? []).map(({ name }) => name), value])].filter(Boolean)
}

/** TierInput chooses one of the tiers that exist, or none. */
export function TierInput(props: InputProps) {
  return <SelectInput {...props} options={[['', 'None'], ...optionsOf(useTierNames(props.value))]} />
}

const ZONES = optionsOf(Intl.supportedValuesOf('timeZone'))

export const ZoneInput = (props: InputProps) => <SuggestInput {...props} options={ZONES} />

const OFFERED_CUSTOMERS = 8

/** CustomerInput takes the id of a customer, and offers those whose id, name or key begins with what was typed. */
export function CustomerInput(props: InputProps) {
  const search = props.value.trim() || undefined
  const [found, setFound] = useState<readonly Customer[]>([])
  useEffect(() => {
    const { signal, ...stopper } = abortable()
    ask('listCustomers', { query: { search, page_size: OFFERED_CUSTOMERS }, signal }).then(
      ({ body }) => setFound(body.items),
      // Without suggestions, an id can be typed.
      () => {},
    )
    return stopper.abort
  }, [search])
  const options = found.map(({ id, name }) => [id, name] as const)
  return <SuggestInput autoComplete="off" spellcheck={false} placeholder="Id or name" {...props} options={options} />
}

function abortable() {
  const stopper = new AbortController()
  return { signal: stopper.signal, abort: () => stopper.abort() }
}

/** EndInput takes the time at which something ends, with the usual choices below it. */
export function EndInput({ presets, ...rest }: InputProps & { readonly presets: readonly PresetName[] }) {
  return (
    <>
      <TextInput {...rest} type="datetime-local" />
      <div class="row wrap" role="group" aria-label="Common times">
        {endPresets(Date.now(), presets).map(({ text, at }) => (
          <button
            key={text}
            type="button"
            class="button small"
            aria-pressed={inputOf(at) === rest.value}
            onClick={() => rest.onChange(inputOf(at))}
          >
            {text}
          </button>
        ))}
      </div>
    </>
  )
}
