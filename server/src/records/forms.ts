import type { Field, ObjectSchema, RefSchema, Schema, TextSchema, Value } from 'sluice/internal/core/schema/schema'

/** A text of limited length. */
export const text = <const N extends number>(max: N, min = 1) => ({ kind: 'text', min, max }) as const

export const ID = {
  kind: 'text',
  pattern: /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/,
  whenOther: 'an id has 1 to 128 letters, digits and signs of . _ : @ -, and begins with a letter or digit',
} as const satisfies TextSchema

export const API_KEY = {
  kind: 'text',
  pattern: /^[\x21-\x7e]{8,256}$/,
  whenOther: 'an API key has 8 to 256 printable characters without spaces',
} as const satisfies TextSchema

/** The seeds know short keys: where one is named in a path, it may have any length. */
export const NAMED_API_KEY = {
  kind: 'text',
  pattern: /^[\x21-\x7e]{1,256}$/,
  whenOther: 'an API key has 1 to 256 printable characters without spaces',
} as const satisfies TextSchema

export const TIME = {
  kind: 'text',
  pattern: /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})$/,
  whenOther: 'a time is written as 2026-01-31T12:00:00Z',
} as const satisfies TextSchema

export const DATE = {
  kind: 'text',
  pattern: /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/,
  whenOther: 'a day is written as 2026-01-31',
} as const satisfies TextSchema

export const TIER_NAME = {
  kind: 'text',
  pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  whenOther: 'the name of a tier has 1 to 64 letters, digits and signs of . _ -',
} as const satisfies TextSchema

export const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const
export const UNIT = { kind: 'choice', of: UNITS } as const
export const COUNT = { kind: 'integer', min: 0, max: 4_294_967_295 } as const
/** What is billed: far below what a double holds exactly, so that sums of many are exact, too. */
export const QUANTITY = { kind: 'integer', min: 0, max: 1_000_000_000_000_000 } as const
export const WHOLE = { kind: 'integer', min: 0 } as const
export const NUMBER = { kind: 'number' } as const
export const YES_OR_NO = { kind: 'boolean' } as const
export const DESCRIPTOR = text(256)
export const REASON = text(500)
export const TICKET = text(128)
export const ANY = { kind: 'any' } as const
export const METADATA = { kind: 'map', keys: text(64), of: text(500, 0) } as const
export const WORDS = { kind: 'text' } as const

/** The parts of objects. */
export const list = <const S extends Schema>(of: S) => ({ kind: 'list', of }) as const
export const needed = <const S extends Schema>(schema: S, doc?: string) =>
  ({ schema, required: true, ...(doc && { doc }) }) as const
export const orNull = <const S extends Schema>(schema: S, doc?: string) =>
  ({ schema, required: true, nullable: true, ...(doc && { doc }) }) as const
export const optional = <const S extends Schema>(schema: S, doc?: string) =>
  ({ schema, nullable: true, ...(doc && { doc }) }) as const
export const object = <const F extends Readonly<Record<string, Field>>>(fields: F) =>
  ({ kind: 'object', fields }) as const

/** Gives a schema a name, under which OpenAPI lists it once. */
export function named<const S extends Schema>(name: string, schema: S): RefSchema<Value<S>> {
  return { kind: 'ref', name, to: () => schema }
}

/** A page of a list. */
export const pageOf = <const S extends Schema>(of: S, more: Parameters<typeof object>[0] = {}): ObjectSchema =>
  object({
    items: needed(list(of)),
    next_cursor: orNull(WORDS, 'where the next page begins; null on the last one'),
    ...more,
  })

export const SPAN = {
  effective_at: optional(TIME, 'when it takes effect; now by default'),
  expires_at: optional(TIME, 'when it expires; null: never'),
} as const

export const SPAN_ANSWER = { effective_at: needed(TIME), expires_at: orNull(TIME) } as const

/** CHANGED is what every record says about its changes. */
export const VERSION = { version: needed(WHOLE, 'rises with every change; the ETag') } as const
export const CREATED = { created_at: needed(TIME) } as const
export const UPDATED = { updated_at: needed(TIME) } as const

export const RULE_NAME = object({ domain: needed(text(256)), id: needed(text(4_096)) })

export const ENTRY = object({ key: needed(text(1_024)), value: needed(text(16_384, 0)) })
export const DESCRIPTORS = {
  kind: 'list',
  min: 1,
  max: 16,
  of: object({ entries: needed({ kind: 'list', min: 1, max: 32, of: ENTRY }) }),
} as const
