import { useEffect, useId, useState } from 'preact/hooks'
import { ask } from '../api/client.ts'
import type { Customer } from '../api/operations.ts'
import { Field } from './field.tsx'

interface CustomerFieldProps {
  readonly label?: string
  readonly hint?: string
  readonly value: string
  readonly wrong?: string | undefined
  readonly onChange: (id: string) => void
}

const OFFERED = 8

/** CustomerField takes the id of a customer, and offers those whose id, name or key begins with what was typed. */
export function CustomerField({ label = 'Customer', hint, value, wrong, onChange }: CustomerFieldProps) {
  const id = useId()
  const [found, setFound] = useState<readonly Customer[]>([])
  useEffect(() => {
    const stopper = new AbortController()
    const search = value.trim() === '' ? undefined : value.trim()
    ask('listCustomers', { query: { search, page_size: OFFERED }, signal: stopper.signal }).then(
      ({ body }) => setFound(body.items),
      // Without suggestions, an id can be typed.
      () => {},
    )
    return () => stopper.abort()
  }, [value])
  return (
    <>
      <Field label={label} hint={hint} wrong={wrong}>
        <input
          list={id}
          value={value}
          autoComplete="off"
          spellcheck={false}
          placeholder="Id or name"
          onInput={(event: Event) => onChange((event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      <datalist id={id}>
        {found.map((customer) => (
          <option key={customer.id} value={customer.id}>
            {customer.name}
          </option>
        ))}
      </datalist>
    </>
  )
}
