import type { ChoiceSchema, Schema } from 'sluice/internal/core/schema/schema'

/** How a column stores a value. Times are timestamps in the database, and milliseconds everywhere else. */
export type ColumnKind = 'text' | 'int8' | 'bool' | 'jsonb' | 'time'

/** The context in which a record is made. */
export interface Making {
  readonly id: string
  readonly nowMs: number
}

/** What a field says beyond its form; every part has a default that asks nothing of the reader. */
export interface FieldOptions<T> {
  /** One line for people, in OpenAPI and in forms. */
  readonly doc?: string
  /** Who writes it. By default the service does, and callers cannot. */
  readonly by?: 'caller'
  /** What a caller sends, where that is narrower than what is answered. */
  readonly sent?: Schema
  /**
   * What it is in a new record to which the caller gave none. Without it, and unless it is optional, the caller has to.
   */
  readonly initial?: T | ((making: Making) => T)
  /** A replacement that does not name it keeps it. By default it becomes what it is in a new record. */
  readonly isKept?: true
  /** Throws for what has the right form and is wrong all the same. Returns what is stored. */
  read?(value: T): T
  /** What workers receive in its place: no decision depends on it. */
  readonly slim?: T | undefined
  /** It is in no answer and in no entry of the audit log. */
  readonly isSecret?: true
  /** It is in no answer. */
  readonly isInternal?: true
  /** Its name in JSON, where that is not the name of its column. */
  readonly shownAs?: string
  /** What is answered in its place. */
  shown?(value: T): unknown
}

/**
 * A Field is one value of a record: its name in code is that of its key in the table, its column and its name in JSON
 * follow from that (`requestsPerUnit` is `requests_per_unit`, `expiresAtMs` is `expires_at`).
 */
export interface Field<T = unknown> extends FieldOptions<T> {
  readonly kind: ColumnKind
  readonly schema: Schema
  /** Undefined is a value: null in the database and in JSON. */
  readonly isOptional?: true
  /** Several columns and names in JSON, where one value of code is more than one of theirs. */
  readonly parts?: Parts<T>
}

/** Parts say how one value of code becomes several columns, each of them optional. */
export interface Parts<T> {
  /** The columns: their names, which JSON uses too unless `answer` says otherwise. */
  readonly columns: Readonly<Record<string, Field>>
  split(value: T): Readonly<Record<string, unknown>>
  join(cells: Readonly<Record<string, unknown>>): T
  /** What answers it in JSON, where that is not its columns. */
  readonly answer?: { readonly schema: Schema; readonly doc: string; of(value: T): unknown }
}

export type Fields = Readonly<Record<string, Field>>

type FieldValue<F> = F extends Field<infer T> ? T : never

/** The type of the records that have these fields. */
export type RecordOf<F> = { readonly [K in keyof F]: FieldValue<F[K]> }

/** A field of a text, stored as it is. */
export function text(schema: Schema, options: FieldOptions<string> = {}): Field<string> {
  return { kind: 'text', schema, ...options }
}

/** A field of one of several texts. */
export function choice<const C extends string>(
  schema: ChoiceSchema & { readonly of: readonly C[] },
  options: FieldOptions<C> = {},
): Field<C> {
  return { kind: 'text', schema, ...options }
}

/** A field of a whole number. */
export function count(schema: Schema, options: FieldOptions<number> = {}): Field<number> {
  return { kind: 'int8', schema, ...options }
}

/** A field of true or false. */
export function flag(schema: Schema, options: FieldOptions<boolean> = {}): Field<boolean> {
  return { kind: 'bool', schema, ...options }
}

/** A field of any JSON value. */
export function value<T>(schema: Schema, options: FieldOptions<T> = {}): Field<T> {
  return { kind: 'jsonb', schema, ...options }
}

/** Makes a field optional. Callers remove its value with null. */
export function optional<T>(field: Field<T>): Field<T | undefined> {
  return { ...field, isOptional: true }
}

/** Returns the column of a field, and its name in JSON. */
export function columnOf(name: string, { kind }: Pick<Field, 'kind'>): string {
  const plain = kind === 'time' ? name.replace(/Ms$/, '') : name
  return plain.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Returns the name of a field in JSON. */
export function shownName(name: string, field: Pick<Field, 'kind' | 'shownAs'>): string {
  return field.shownAs ?? columnOf(name, field)
}
