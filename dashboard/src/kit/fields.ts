import type { Operations } from '../api/operations.ts'
import { FIELDS } from '../api/record-fields.ts'
import { endOf } from './end-times.ts'
import { pairsOf } from './pairs.ts'
import { wholeNumber } from './whole-number.ts'

/** A Limits is what the API takes for a field: its kind and its bounds, from the table of records (api/record-fields.ts). */
export type Limits = { readonly isNeeded?: boolean; readonly doc?: string } & (
  | { readonly kind: 'text'; readonly max?: number }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'integers'; readonly min: number; readonly max: number; readonly most: number }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  | { readonly kind: 'boolean' | 'date' | 'time' | 'pairs' }
)

/** The operations that have a form. */
export type FormId = keyof typeof FIELDS & keyof Operations
export type FieldName<Id extends FormId> = keyof (typeof FIELDS)[Id] & string
/** The fields of all records that callers may write: each needs a label. */
export type AnyFieldName = { [Id in FormId]: FieldName<Id> }[FormId]

/** limitsOf returns the fields of an operation, in the order of the table of records. */
export const limitsOf = <Id extends FormId>(id: Id): readonly (readonly [FieldName<Id>, Limits])[] =>
  Object.entries(FIELDS[id]) as never

/** What was typed into a form, by field. A box that is checked is 'true'. */
export type Typed = Readonly<Record<string, string>>

/** Read is the body of a request that was read from a form, or what is wrong with each field. */
export type Read =
  | { readonly kind: 'right'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly kind: 'wrong'; readonly wrongs: Readonly<Record<string, string>> }

/** A value that is not given: a creation leaves it out, a change takes it away. */
const NONE = Symbol('none')

/** readFields reads what was typed. A field that is empty is left out, or null where `isChange`. */
export function readFields(
  fields: readonly (readonly [string, Limits])[],
  typed: Typed,
  { isChange = false, nowMs = Date.now() } = {},
): Read {
  const body: Record<string, unknown> = {}
  const wrongs: Record<string, string> = {}
  for (const [name, limits] of fields) {
    const value = readField(limits, typed[name]?.trim() ?? '', nowMs)
    if (value instanceof Wrong) wrongs[name] = value.text
    else if (value !== NONE) body[name] = value
    else if (limits.isNeeded) wrongs[name] = 'This field is needed.'
    else if (isChange) body[name] = null
  }
  return Object.keys(wrongs).length > 0 ? { kind: 'wrong', wrongs } : { kind: 'right', body }
}

class Wrong {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

function readField(limits: Limits, typed: string, nowMs: number): unknown {
  if (limits.kind === 'boolean') return typed === 'true'
  if (limits.kind === 'pairs') {
    const { pairs, wrong } = pairsOf(typed)
    return wrong === undefined ? pairs : new Wrong(wrong)
  }
  if (typed === '') return limits.kind === 'integer' && limits.isNeeded ? new Wrong(wholeText(limits)) : NONE
  if (limits.kind === 'integer') return inBounds(wholeNumber(typed), limits) ?? new Wrong(wholeText(limits))
  if (limits.kind === 'integers') return integersOf(typed, limits)
  if (limits.kind !== 'time') return typed
  const end = endOf(typed, nowMs)
  return end.kind === 'at' ? new Date(end.ms).toISOString() : end.kind === 'none' ? NONE : new Wrong(end.why)
}

interface Bounds {
  readonly min: number
  readonly max: number
}

const inBounds = (value: number | undefined, { min, max }: Bounds): number | undefined =>
  value !== undefined && value >= min && value <= max ? value : undefined

/** A message does not name an upper bound above this: no input comes near it. */
const HIGH = 1_000_000_000

function wholeText({ min, max }: Bounds): string {
  return max > HIGH ? `A whole number from ${Math.max(1, min)} on.` : `A whole number from ${min} to ${max}.`
}

function integersOf(typed: string, limits: Bounds & { readonly most: number }): readonly number[] | Wrong {
  const { min, max, most } = limits
  const values = [...new Set(typed.split(/[\s,;%]+/).filter(Boolean))].map((each) => inBounds(Number(each), limits))
  const isRight = values.length > 0 && values.length <= most && values.every((each) => Number.isInteger(each))
  if (!isRight) return new Wrong(`Up to ${most} whole numbers from ${min} to ${max}.`)
  return (values as number[]).sort((a, b) => a - b)
}

/** typedOf returns the fields of a record as they stand in a form. */
export function typedOf(fields: readonly (readonly [string, Limits])[], record: object): Typed {
  return Object.fromEntries(fields.map(([name, limits]) => [name, fieldText(limits, Reflect.get(record, name))]))
}

function fieldText({ kind }: Limits, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (kind === 'pairs')
    return Object.entries(value)
      .map(([name, text]) => `${name}: ${text}`)
      .join('\n')
  return Array.isArray(value) ? value.join(', ') : String(value)
}
