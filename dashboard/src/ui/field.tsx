import { type ComponentChildren, cloneElement, type VNode } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly wrong?: string | undefined
  /** It takes a whole line of the form. */
  readonly isWide?: boolean
  /** One input, select or textarea. */
  readonly children: VNode<Record<string, unknown>>
}

/** Field is an input with its name, a hint, and what is wrong with what was typed. */
export function Field({ label, hint, wrong, isWide = false, children }: FieldProps) {
  const id = useId()
  const notes = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(' ')
  const input = cloneElement(children, {
    id,
    class: `input ${String(children.props.class ?? '')}`.trim(),
    'aria-invalid': wrong === undefined ? undefined : 'true',
    'aria-describedby': notes === '' ? undefined : notes,
  })
  return (
    <div class={isWide ? 'field wide' : 'field'}>
      <label class="label" for={id}>
        {label}
      </label>
      {input}
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong && (
        <span class="wrong" id={`${id}-wrong`} role="alert">
          {wrong}
        </span>
      )}
    </div>
  )
}
