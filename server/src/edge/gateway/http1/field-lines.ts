import { FieldSet } from '../fields.ts'

const SPACE = 0x20
const TAB = 0x09

/**
 * Reads the lines of a head from `at` on. It returns what is wrong as a text. A line ends with CR LF and with nothing
 * else: another end of a line is a control character, and those are refused.
 */
export function readFieldLines(text: string, at: number, maxHeaders: number): FieldSet | string {
  const fields = new FieldSet()
  let from = at
  while (from < text.length) {
    const found = text.indexOf('\r\n', from)
    const end = found < 0 ? text.length : found
    const colon = text.indexOf(':', from)
    if (colon < 0 || colon >= end) return 'a line of the head has no colon'
    if (fields.kinds.length >= maxHeaders) return TOO_MANY
    const wrong = fields.add(text.slice(from, colon), trimmed(text, colon + 1, end))
    if (wrong !== undefined) return wrong
    from = end + 2
  }
  return fields
}

/** What readFieldLines returns for more fields than there may be. */
export const TOO_MANY = 'there are too many fields'

function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}
