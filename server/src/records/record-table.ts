import type { Schema, Field as SchemaField } from 'sluice/internal/core/schema/schema'
import { type ColumnKind, columnOf, type Field, type Fields, type Making, type RecordOf, shownName } from './field.ts'
import { needed, object, orNull } from './forms.ts'
import { readTime, timeText } from './times.ts'

export type Row = Readonly<Record<string, unknown>>
type Cells = Record<string, unknown>

/** A ListFilter is a column that has to have a value, or a condition on the value, which is a parameter in SQL. */
export type ListFilter = string | ((value: string) => string)

/** What a kind of record is: everything about it follows from this. */
export interface RecordSpec<F> {
  /** Its table in the database. Every table has a text `id` and a `version`. */
  readonly table: string
  /** Its name in OpenAPI. */
  readonly schemaName: string
  /** In the order in which they are answered. */
  readonly fields: F
  /** What lists can be narrowed by, under the name that callers of the store use. */
  readonly filters: Readonly<Record<string, ListFilter>>
  /** The columns at whose beginning a search looks, in addition to the id. */
  readonly searched?: readonly string[]
  /** A condition that finds more, of a pattern in small letters. */
  readonly foundBy?: (pattern: string) => string
  /** The id, where it is not a field. */
  readonly idOf?: (record: RecordOf<F>) => string
  /** Whom an entry of the audit log is about. */
  readonly customerOf?: (record: RecordOf<F>) => string | undefined
  /** Throws for a record whose fields are valid one by one, but not together. */
  readonly check?: (record: RecordOf<F>) => void
  /** What answers have beyond the fields: worked out for each answer. */
  readonly derived?: Readonly<Record<string, SchemaField>>
}

/** The body of a request, of the form that `sent` describes. */
export type Given = Readonly<Record<string, unknown>>

/** A RecordTable is one kind of record: how it is stored, answered, sent to workers, and made of what callers send. */
export interface RecordTable<Rec> {
  readonly table: string
  readonly columns: Readonly<Record<string, ColumnKind>>
  readonly optionalColumns: ReadonlySet<string>
  readonly filters: Readonly<Record<string, ListFilter>>
  readonly searched: readonly string[]
  readonly foundBy: ((pattern: string) => string) | undefined
  idOf(record: Rec): string
  customerOf(record: Rec): string | undefined
  toRow(record: Rec): Row
  toRecord(row: Row): Rec
  /** The form of an answer. */
  readonly answer: Schema
  readonly answerFields: Readonly<Record<string, SchemaField>>
  /** Returns a record as it is answered: times as text, nothing secret. */
  toJson(record: Rec, derived?: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
  /** Returns a record as text for the audit log, without secrets. `more` is what else the entry says. */
  toAudit(record: Rec, more?: Readonly<Record<string, unknown>>): string
  /** Leaves out what no decision depends on. */
  toWorkers(record: Rec): Rec
  /** What callers may send to make or replace a record, and, with `isChange`, to change some fields of one. */
  readonly sent: { readonly whole: Sent; readonly change: Sent }
  /** Returns a new record of what a caller sent; `fixed` is what the path and the service say. */
  made(given: Given, making: Making, fixed: Partial<Rec>): Rec
  /** Returns a record in place of another. What was not sent is as in a new one, except for kept fields. */
  replaced(given: Given, before: Rec, making: Making, fixed: Partial<Rec>): Rec
  /**
   * Returns a record with some fields changed: null removes a value. For a required field, null counts as not sent, or,
   * with `making`, as in a new record.
   */
  changed(given: Given, before: Rec, making?: Making): Rec
}

/** The type of the records of a table. */
export type RecordIn<T> = T extends RecordTable<infer Rec> ? Rec : never

type Sent = Readonly<Record<string, SchemaField>>

/** Derives everything that follows from the fields of a kind of record. */
export function recordTable<const F extends Fields>(spec: RecordSpec<F>): RecordTable<RecordOf<F>> {
  type Rec = RecordOf<F>
  const fields = Object.entries(spec.fields as unknown as Record<string, Field>)
  const columns = Object.fromEntries(fields.flatMap(columnsOf))
  const idOf = spec.idOf ?? ((record: Rec) => (record as unknown as { id: string }).id)
  if (spec.idOf !== undefined) columns.id = 'text'
  const answerFields = { ...Object.fromEntries(fields.flatMap(answersOf)), ...spec.derived }
  const read = (given: Given, base: (name: string, field: Field, isNull: boolean) => unknown): Rec => {
    const record = Object.fromEntries(
      fields.map(([name, field]) => [name, readSent(name, field, given, (isNull) => base(name, field, isNull))]),
    ) as Rec
    spec.check?.(record)
    return record
  }
  const callers = fields.filter(([, { by }]) => by === 'caller')
  const initial = (making: Making, fixed: Partial<Rec>) => (name: string, field: Field) =>
    Object.hasOwn(fixed, name) ? fixed[name as keyof Rec] : initialOf(field, making)
  const toJson = (record: Rec, derived: Readonly<Record<string, unknown>> = {}): Cells => {
    const json: Cells = {}
    for (const [name, field] of fields) answerInto(json, name, field, (record as Row)[name])
    for (const name in spec.derived) json[name] = derived[name] ?? null
    return json
  }
  return {
    table: spec.table,
    columns,
    optionalColumns: new Set(fields.flatMap(optionalColumnsOf)),
    filters: spec.filters,
    searched: spec.searched ?? [],
    foundBy: spec.foundBy,
    idOf,
    customerOf: spec.customerOf ?? (() => undefined),
    toRow: (record) => {
      const row: Cells = spec.idOf === undefined ? {} : { id: spec.idOf(record) }
      for (const [name, field] of fields) storeInto(row, name, field, (record as Row)[name])
      return row
    },
    toRecord: (row) => {
      const record: Cells = {}
      for (const [name, field] of fields) record[name] = loadFrom(row, name, field)
      return record as Rec
    },
    answer: { kind: 'ref', name: spec.schemaName, to: () => object(answerFields) },
    answerFields,
    toJson,
    toAudit: (record, more) => JSON.stringify({ ...without(record, secretsOf(fields)), ...more }),
    toWorkers: (record) => {
      const slim: Cells = { ...record }
      for (const [name, field] of fields) if ('slim' in field) slim[name] = field.slim
      return slim as Rec
    },
    sent: {
      whole: Object.fromEntries(callers.map((each) => sentField(each, false))),
      change: Object.fromEntries(callers.map((each) => sentField(each, true))),
    },
    made: (given, making, fixed) => read(given, initial(making, fixed)),
    replaced: (given, before, making, fixed) => {
      const fresh = initial(making, fixed)
      return read(given, (name, field) =>
        (field.by === undefined || field.isKept) && !Object.hasOwn(fixed, name)
          ? before[name as keyof Rec]
          : fresh(name, field),
      )
    },
    changed: (given, before, making) =>
      read(given, (name, field, isNull) => {
        const fresh = isNull && making !== undefined ? initialOf(field, making) : undefined
        return fresh ?? before[name as keyof Rec]
      }),
  }
}

// --- one field ---

type Entry = readonly [name: string, field: Field]

const columnsOf = ([name, field]: Entry): [string, ColumnKind][] =>
  field.parts === undefined
    ? [[columnOf(name, field), field.kind]]
    : Object.entries(field.parts.columns).map(([column, { kind }]) => [column, kind])

const optionalColumnsOf = ([name, field]: Entry): string[] => {
  if (field.parts !== undefined) return Object.keys(field.parts.columns)
  return field.isOptional ? [columnOf(name, field)] : []
}

function answersOf([name, field]: Entry): [string, SchemaField][] {
  const { parts, schema, doc, isOptional } = field
  if (isHidden(field)) return []
  if (parts?.answer !== undefined) return [[name, orNull(parts.answer.schema, parts.answer.doc)]]
  if (parts !== undefined) {
    return Object.entries(parts.columns).map(([column, part]) => [column, orNull(part.schema, part.doc)])
  }
  return [[shownName(name, field), isOptional ? orNull(schema, doc) : needed(schema, doc)]]
}

function answerInto(json: Cells, name: string, field: Field, value: unknown): void {
  const { parts, kind, shown } = field
  if (isHidden(field)) return
  if (parts?.answer !== undefined) json[name] = parts.answer.of(value as never)
  else if (parts !== undefined) Object.assign(json, nulls(parts.columns), parts.split(value as never))
  else if (shown !== undefined) json[shownName(name, field)] = shown(value as never)
  else {
    json[shownName(name, field)] = kind === 'time' && value !== undefined ? timeText(value as number) : (value ?? null)
  }
}

function storeInto(row: Cells, name: string, field: Field, value: unknown): void {
  if (field.parts !== undefined) Object.assign(row, nulls(field.parts.columns), field.parts.split(value as never))
  else if (value === undefined && !field.isOptional && field.kind !== 'jsonb') throw new Error(`${name} is missing`)
  else row[columnOf(name, field)] = value ?? null
}

function loadFrom(row: Row, name: string, field: Field): unknown {
  if (field.parts !== undefined) return field.parts.join(row)
  const cell = row[columnOf(name, field)]
  return cell === null && field.isOptional ? undefined : cell
}

function sentField([name, field]: Entry, isChange: boolean): [string, SchemaField] {
  const { sent, schema, doc, isOptional, initial } = field
  const isNeeded = !isChange && !isOptional && initial === undefined
  return [
    shownName(name, field),
    { schema: sent ?? schema, ...(isNeeded ? { required: true } : { nullable: true }), ...(doc && { doc }) },
  ]
}

/** Reads one field of what was sent. Null removes an optional value, and means "not sent" for any other field. */
function readSent(name: string, field: Field, given: Given, base: (isNull: boolean) => unknown): unknown {
  if (field.by !== 'caller') return base(false)
  const shown = shownName(name, field)
  const sent = given[shown]
  if (sent === undefined || (sent === null && !field.isOptional)) return base(sent === null)
  if (sent === null) return undefined
  const value = field.kind === 'time' ? readTime(sent as string, `body.${shown}`) : sent
  return field.read === undefined ? value : field.read(value as never)
}

function initialOf({ initial }: Field, making: Making): unknown {
  return typeof initial === 'function' ? (initial as (making: Making) => unknown)(making) : initial
}

const nulls = (columns: object): Cells => Object.fromEntries(Object.keys(columns).map((column) => [column, null]))

const isHidden = ({ isSecret, isInternal }: Field): boolean => isSecret === true || isInternal === true

const secretsOf = (fields: readonly Entry[]): ReadonlySet<string> =>
  new Set(fields.filter(([, { isSecret }]) => isSecret).map(([name]) => name))

const without = (record: object, names: ReadonlySet<string>): object =>
  names.size === 0 ? record : Object.fromEntries(Object.entries(record).filter(([name]) => !names.has(name)))
