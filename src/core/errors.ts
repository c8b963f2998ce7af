import type { ERROR_RULES } from './error-rules.ts'
import { KNOWN_RULES } from './error-rules-code.ts'

/** The code of an error. docs/errors.md describes each. */
export type ErrorCode = keyof typeof ERROR_RULES

/**
 * The only error that Sluice raises on purpose. The message says what happened, then what was expected or what to do:
 * `LIMIT_INVALID: limit: got -1. A limit must be a whole number from 0 to 4294967295.` Pass `advice` where more can be
 * said than the registry's sentence; `detail` then names the place, and `where` is left out of the message:
 * `PORT_UNAVAILABLE: port 8080 is in use (EADDRINUSE). Stop the other process …`
 */
export class SluiceError extends Error {
  override readonly name = 'SluiceError'
  readonly code: ErrorCode
  readonly where: string
  readonly detail: string

  constructor(code: ErrorCode, where: string, detail: string, advice?: string) {
    const what = /[.?!]$/.test(detail) ? detail : `${detail}.`
    super(`${code}: ${advice === undefined ? `${where}: ${what} ${ruleOf(code)}` : `${what} ${advice}`}`)
    this.code = code
    this.where = where
    this.detail = detail
  }
}

/** The sentences of the parts of the library that an app uses. */
const added: Partial<Record<ErrorCode, string>> = {}

/**
 * Brings the sentences of a part of the library along. It is called when the part is used, not when it is loaded, so
 * that bundlers can leave out what an app does not use.
 */
export function addErrorRules(rules: Partial<Record<ErrorCode, string>>): void {
  Object.assign(added, rules)
}

function ruleOf(code: ErrorCode): string {
  return (KNOWN_RULES as typeof added)[code] ?? added[code] ?? 'See docs/errors.md.'
}

/** Removes the user and password from every address in a text. */
export function withoutCredentials(text: string): string {
  return text.replace(/:\/\/\S*@/g, '://…@')
}

/** Formats a value for an error message: short, strings quoted, no whole objects, no passwords. */
export function got(value: unknown): string {
  if (typeof value === 'string') {
    // The password may contain any character, so the text is treated as one address.
    const text = value.replace(/:\/\/.*@/s, '://…@')
    return `got ${JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)}`
  }
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? listText(value) : 'got an object'
  return `got ${String(value)}`
}

function listText({ length }: readonly unknown[]): string {
  return length === 0 ? 'got an empty list' : 'got a list'
}
