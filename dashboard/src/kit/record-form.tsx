import type { ComponentChildren, ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import type { Operations } from '../api/operations.ts'
import { fullTime } from '../format/time.ts'
import { Field } from '../ui/field.tsx'
import { type Change, confirmChange } from './change-dialog.tsx'
import { FormDialog } from './dialog.tsx'
import { closeDialog, openDialog } from './dialogs.tsx'
import { endOf, type PresetName } from './end-times.ts'
import { type FieldName, type FormId, type Limits, limitsOf, readFields, type Typed, typedOf } from './fields.ts'
import {
  AreaInput,
  CustomerInput,
  EndInput,
  type InputProps,
  optionsOf,
  SelectInput,
  TextInput,
  TierInput,
  ZoneInput,
} from './inputs.tsx'
import { HINTS, LABELS } from './labels.ts'

/** A FieldView changes how a form shows a field. */
export interface FieldView {
  readonly label?: string
  readonly hint?: ComponentChildren
  /** What is said while a field that is needed is empty. */
  readonly missing?: string
  readonly isNeeded?: boolean
  readonly isHidden?: boolean
  readonly input?: ComponentType<InputProps>
  /** Ends to choose from, of a time. */
  readonly presets?: readonly PresetName[]
}

type Views<Id extends FormId> = { readonly [Name in FieldName<Id>]?: FieldView }

/** A RecordForm asks for the fields of an operation, and leads to the change that they make. */
export interface RecordForm<Id extends FormId> {
  readonly title: string
  readonly operation: Id
  /** The fields of the form; by default all but `without`. */
  readonly only?: readonly FieldName<Id>[]
  readonly without?: readonly FieldName<Id>[]
  /** The fields that come before the others. */
  readonly first?: readonly FieldName<Id>[]
  readonly views?: Views<Id> | ((typed: Typed) => Views<Id>)
  /** What stands in the form at first: as it was typed, or a record. */
  readonly typed?: Typed
  readonly record?: object
  /** Shown above the fields. `set` changes what is typed. */
  readonly about?: ComponentChildren | ((typed: Typed, set: (typed: Typed) => void) => ComponentChildren)
  /** What to confirm; undefined: nothing differs, and the form closes. */
  readonly next: (body: Operations[Id]['body'], typed: Typed) => Omit<Change<Id>, 'operation' | 'onBack'> | undefined
}

/** openForm opens a form. After it, the change is previewed and confirmed; Back leads to the form with what was typed. */
export function openForm<Id extends FormId>(form: RecordForm<Id>): void {
  openDialog(<RecordFormDialog {...form} />)
}

function RecordFormDialog<Id extends FormId>(form: RecordForm<Id>) {
  const { title, operation, about, views = {}, next } = form
  const fields = fieldsOf(form)
  const [typed, setTyped] = useState<Typed>(() => form.typed ?? typedOf(fields, form.record ?? {}))
  const [isChecked, setChecked] = useState(false)
  const shownAs: Views<Id> = typeof views === 'function' ? views(typed) : views
  const viewOf = (name: string): FieldView => Reflect.get(shownAs, name) ?? {}
  const shown = fields
    .filter(([name]) => !viewOf(name).isHidden)
    .map(
      ([name, limits]) => [name, { ...limits, isNeeded: viewOf(name).isNeeded ?? limits.isNeeded ?? false }] as const,
    )
  const read = readFields(shown, typed, { isChange: operation.startsWith('change') })
  const wrongs = isChecked && read.kind === 'wrong' ? read.wrongs : {}
  const submit = (): void => {
    setChecked(true)
    if (read.kind === 'wrong') return
    const change = next(read.body as Operations[Id]['body'], typed)
    if (change === undefined) closeDialog()
    else confirmChange({ ...change, operation, onBack: () => openForm({ ...form, typed }) })
  }
  return (
    <FormDialog title={title} onSubmit={submit}>
      {typeof about === 'function' ? about(typed, setTyped) : about}
      <div class="fields">
        {shown.map(([name, limits]) => (
          <FieldRow
            key={name}
            name={name}
            limits={limits}
            view={viewOf(name)}
            value={typed[name] ?? ''}
            wrong={wrongs[name]}
            onChange={(value) => setTyped({ ...typed, [name]: value })}
          />
        ))}
      </div>
    </FormDialog>
  )
}

/** fieldsOf returns the fields that a form asks for. The reason is asked for with the preview, and times of beginning not at all. */
function fieldsOf<Id extends FormId>({ operation, only, without = [], first = [] }: RecordForm<Id>) {
  const all = limitsOf(operation)
  if (only !== undefined) return only.flatMap((each) => all.filter(([name]) => name === each))
  const left: readonly string[] = [...without, 'reason', 'effective_at']
  const rank = ([name]: readonly [string, Limits]): number => Number(!(first as readonly string[]).includes(name))
  return all.filter(([name]) => !left.includes(name)).toSorted((a, b) => rank(a) - rank(b))
}

interface RowProps {
  readonly name: string
  readonly limits: Limits
  readonly view: FieldView
  readonly value: string
  readonly wrong: string | undefined
  readonly onChange: (value: string) => void
}

/** FieldRow is one field with its label. */
function FieldRow({ name, limits, view, value, wrong, onChange }: RowProps) {
  const label = view.label ?? Reflect.get(LABELS, name)
  if (limits.kind === 'boolean') {
    return (
      <label class="row">
        <input type="checkbox" checked={value === 'true'} onChange={() => onChange(value === 'true' ? '' : 'true')} />
        {label}
      </label>
    )
  }
  const Input = view.input ?? INPUTS[name]
  const missing = value.trim() === '' && wrong !== undefined ? view.missing : undefined
  const hint = limits.kind === 'time' ? endHint(value) : (view.hint ?? HINTS[name] ?? sentence(limits.doc))
  return (
    <Field
      label={label}
      hint={hint}
      wrong={missing ?? wrong}
      isWide={limits.kind === 'text' && (limits.max ?? 0) > LONG}
    >
      {Input ? (
        <Input value={value} onChange={onChange} />
      ) : (
        <KindInput value={value} onChange={onChange} limits={limits} presets={view.presets ?? PRESETS} />
      )}
    </Field>
  )
}

/** A text that may have more characters takes a whole line. */
const LONG = 1_000

const sentence = (doc: string | undefined): string | undefined =>
  doc && `${doc.charAt(0).toUpperCase()}${doc.slice(1)}.`

function endHint(value: string): string | undefined {
  const end = endOf(value, Date.now())
  if (end.kind === 'wrong') return undefined
  return end.kind === 'at' ? `It ends on ${fullTime(end.ms)}.` : 'It stays until it is removed.'
}

const PRESETS: readonly PresetName[] = ['1 h', '24 h', 'Until Friday', 'End of month', 'No end']

/** Fields with inputs of their kind, by their names. */
const INPUTS: Readonly<Record<string, ComponentType<InputProps>>> = {
  tier: TierInput,
  time_zone: ZoneInput,
  customer_id: CustomerInput,
}

interface KindProps extends InputProps {
  readonly limits: Limits
  readonly presets: readonly PresetName[]
}

/** KindInput is the input of a field, by its kind. */
function KindInput({ limits, presets, ...props }: KindProps) {
  switch (limits.kind) {
    case 'choice':
      return <SelectInput {...props} options={optionsOf(limits.of)} />
    case 'time':
      return <EndInput {...props} presets={presets} />
    case 'pairs':
      return <AreaInput {...props} />
    case 'date':
      return <TextInput {...props} type="date" />
    case 'text':
      return <TextInput {...props} maxLength={limits.max} />
    default:
      return <TextInput {...props} inputMode={limits.kind === 'integer' ? 'numeric' : undefined} />
  }
}
