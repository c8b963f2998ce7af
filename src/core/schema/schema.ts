/**
 * Describes the form of a value as data. One description serves the checker (check.ts), the JSON Schema for editors
 * (json-schema.ts) and the compiler (Value).
 */
export type Schema =
  | { readonly kind: 'any' }
  | { readonly kind: 'boolean' }
  | TextSchema
  | NumberSchema
  | ChoiceSchema
  | ListSchema
  | { readonly kind: 'map'; readonly keys?: TextSchema; readonly of: Schema }
  | ObjectSchema
  | EitherSchema
  | RefSchema

/** Counts its length in code points. */
export interface TextSchema {
  readonly kind: 'text'
  readonly min?: number
  readonly max?: number
  readonly pattern?: RegExp
  /** What is said of a text that is too short, in place of the number. */
  readonly whenShort?: string
  /** What is said of a text that the pattern does not match, in place of the pattern. */
  readonly whenOther?: string
  /** What an editor accepts in its place: YAML reads a text without quotes as one of these. */
  readonly unquoted?: readonly ('number' | 'boolean' | 'null')[]
}

export interface ListSchema {
  readonly kind: 'list'
  readonly of: Schema
  readonly min?: number
  readonly max?: number
  /** What is said of a list that is too short, in place of the number. */
  readonly whenShort?: string
}

/** Finite; an integer is exact too. */
export interface NumberSchema {
  readonly kind: 'number' | 'integer'
  readonly min?: number
  readonly above?: number
  readonly max?: number
}

export interface ChoiceSchema {
  readonly kind: 'choice'
  readonly of: readonly string[]
  /** Upper case will do as well. */
  readonly anyCase?: true
}

/** Strict: a key that is not among its fields is an error. */
export interface ObjectSchema {
  readonly kind: 'object'
  readonly fields: Readonly<Record<string, Field>>
  readonly doc?: string
}

/** One of several forms. `expected` names them all, for a value that has none of them. */
export interface EitherSchema {
  readonly kind: 'either'
  readonly of: readonly Schema[]
  readonly expected: string
  readonly doc?: string
}

/** Stands for a schema with a name: one that is used more than once, or inside of itself. */
export interface RefSchema<T = unknown> {
  readonly kind: 'ref'
  readonly name: string
  readonly to: () => Schema
  /** For the compiler alone. */
  readonly value?: T
}

/** One key of an object. */
export interface Field {
  readonly schema: Schema
  readonly required?: true
  /** null stands for "not given". */
  readonly nullable?: true
  readonly doc?: string
}

/** The type of the values that a schema accepts. */
export type Value<S> = S extends { kind: 'text' }
  ? string
  : S extends { kind: 'number' | 'integer' }
    ? number
    : S extends { kind: 'boolean' }
      ? boolean
      : S extends { kind: 'choice'; anyCase: true }
        ? string
        : S extends { kind: 'choice'; of: readonly (infer C)[] }
          ? C
          : S extends { kind: 'list'; of: infer E }
            ? Value<E>[]
            : S extends { kind: 'map'; of: infer E }
              ? Record<string, Value<E>>
              : S extends { kind: 'object'; fields: infer F }
                ? ObjectValue<F>
                : S extends { kind: 'either'; of: readonly (infer E)[] }
                  ? Value<E>
                  : S extends RefSchema<infer T>
                    ? T
                    : unknown

type RequiredKey<F> = { [K in keyof F]: F[K] extends { required: true } ? K : never }[keyof F]
type FieldValue<F> = F extends { schema: infer S } ? Value<S> | (F extends { nullable: true } ? null : never) : never

/** The type of the objects that have these fields. */
export type ObjectValue<F> = Flat<
  { -readonly [K in RequiredKey<F>]: FieldValue<F[K]> } & {
    -readonly [K in Exclude<keyof F, RequiredKey<F>>]?: FieldValue<F[K]> | undefined
  }
>

type Flat<T> = { [K in keyof T]: T[K] }
