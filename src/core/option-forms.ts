import { parseDuration } from './duration.ts'
import type { ErrorCode } from './errors.ts'

/** What an option may be. */
export interface Form {
  /** What errors say that it is: `a text`, `true or false`. */
  readonly expected: string
  is(value: unknown): boolean
  /** What errors about it are called. Default: GATE_OPTIONS_INVALID. */
  readonly code?: ErrorCode
  /** The words that it may be, from which the nearest is suggested. */
  readonly words?: readonly string[]
  /** Whether it may be a number: a text with digits is most likely an environment variable. */
  readonly isNumber?: boolean
  /** The options inside a value that is an object; undefined where they are not checked. */
  inside?(value: object): Forms | undefined
  /** What its elements are. */
  readonly each?: Form
}

export type Forms = Readonly<Record<string, Form>>

/** The table for a type of options: the compiler misses an option that has no form, and one too many. */
export type FormsOf<O> = { readonly [K in keyof Required<O>]: Form }

/** For what is checked where it is used, and for what may be anything. */
export const ANY: Form = { expected: 'anything', is: () => true }
export const TEXT: Form = { expected: 'a text', is: (value) => typeof value === 'string' && value !== '' }
export const BOOLEAN: Form = { expected: 'true or false', is: (value) => typeof value === 'boolean' }
export const FUNCTION: Form = { expected: 'a function', is: (value) => typeof value === 'function' }
/** A text alone: a bare number says no unit, and people mean seconds where milliseconds are counted. */
export const DURATION: Form = {
  expected: "a duration with its unit, such as '90s'",
  is: (value) => value === 0 || (typeof value === 'string' && isDuration(value)),
  code: 'DURATION_INVALID',
}

export function whole(min: number, max: number, code?: ErrorCode): Form {
  return {
    expected: max === Number.POSITIVE_INFINITY ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`,
    is: (value) => (Number.isInteger(value) || value === max) && (value as number) >= min && (value as number) <= max,
    isNumber: true,
    ...(code && { code }),
  }
}

/** Returns how many an option of another library allows: some take no bound for one. */
export const HITS: Form = /* @__PURE__ */ whole(0, Number.POSITIVE_INFINITY)
export const STATUS: Form = /* @__PURE__ */ whole(100, 599)
/** A time of another library, whose numbers are milliseconds. */
export const MS: Form = {
  expected: 'a number of milliseconds',
  is: (value) => typeof value === 'number' && value > 0,
  isNumber: true,
}

export function oneOf(...words: readonly string[]): Form {
  return { expected: listed(words), is: (value) => words.includes(value as string), words }
}

/** Returns an object with these functions: of any class, and with anything else on it. */
export function has(...functions: readonly string[]): Form {
  return {
    expected: `an object with ${listed(functions)}`,
    is: (value) => isThing(value) && functions.every((name) => typeof value[name] === 'function'),
  }
}

/** An object with its own options. */
export function fields(forms: Forms): Form {
  return { expected: 'an object', is: (value) => isThing(value) && !Array.isArray(value), inside: () => forms }
}

export function listOf(each: Form): Form {
  return { expected: `a list, each of ${each.expected}`, is: (value) => Array.isArray(value) && value.length > 0, each }
}

/** Returns the first of several forms that a value has. */
export function either(...forms: readonly Form[]): Form {
  return {
    expected: listed(forms.flatMap((form) => form.words ?? form.expected)),
    is: (value) => forms.some((form) => form.is(value)),
    words: forms.flatMap(({ words = [] }) => words),
    isNumber: forms.some(({ isNumber }) => isNumber === true),
    ...firstOf(forms, 'inside'),
    ...firstOf(forms, 'each'),
    ...firstOf(forms, 'code'),
  }
}

function firstOf<K extends keyof Form>(forms: readonly Form[], key: K): Partial<Form> {
  const found = forms.find((form) => form[key] !== undefined)
  return found === undefined ? {} : { [key]: found[key] }
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words[words.length - 1]}`
}

function isThing(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isDuration(text: string): boolean {
  try {
    return parseDuration(text, '') >= 0
  } catch {
    return false
  }
}
