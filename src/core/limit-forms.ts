import type { LimitOptions } from './limit.ts'
import { COUNTING, LIMIT_OPTIONS, type LimitOption, type OptionName, SHARED } from './limit-options.ts'
import { ANY, BOOLEAN, DURATION, type Form, oneOf, TEXT, whole } from './option-forms.ts'

/** LimitOptions as apps give them: durations say their unit. */
export interface PlainLimit extends Omit<LimitOptions, 'window' | 'leaseTtl'> {
  /** The span that `limit` is counted over, with its unit: `'1m'`, `'90s'`, `'500ms'`. 1 ms to 10 years. */
  readonly window?: string
  /** `concurrency` only: a permit that is neither released nor renewed expires after this long. Default: `'60s'`. */
  readonly leaseTtl?: string
}

type FormsByOption<T> = Readonly<Record<OptionName<T> & string, Form>>

/** Returns the forms of LimitOptions. */
export const COUNTING_FORMS = /* @__PURE__ */ formsOf(COUNTING)

/** The forms of what a limit outside of middleware has besides. */
export const SHARED_FORMS = /* @__PURE__ */ formsOf(SHARED)

/** The forms of all limit options in code, from the table of options. */
export const LIMIT_FORMS = /* @__PURE__ */ formsOf(LIMIT_OPTIONS)

function formsOf<T extends object>(table: T): FormsByOption<T> {
  const rows = Object.values<LimitOption>(table as never)
  return Object.fromEntries(
    rows.flatMap((row) => (row.option === undefined ? [] : [[row.option, formOf(row)]])),
  ) as never
}

/** Leaves to compileLimit what that checks, apart from durations: rule files may have milliseconds. */
function formOf({ schema, code }: LimitOption): Form {
  if (schema === COUNTING.window.schema) return DURATION
  if (code !== undefined) return ANY
  switch (schema.kind) {
    case 'boolean':
      return BOOLEAN
    case 'choice':
      return oneOf(...schema.of)
    case 'text':
      return TEXT
    case 'integer':
      return whole(schema.min ?? 0, schema.max ?? Number.POSITIVE_INFINITY)
    case 'number': {
      const { above = 0, max = 1 } = schema
      const is = (value: unknown): boolean => typeof value === 'number' && value > above && value <= max
      return { expected: `above ${above}, and at most ${max}`, is, isNumber: true }
    }
    default:
      return ANY
  }
}
