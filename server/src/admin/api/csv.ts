/** What spreadsheets take for a formula at the beginning of a cell. */
const FORMULA = /^[=+\-@\t\r\n]/
const NEEDS_QUOTES = /[",\r\n]/
const NUMBER = /^-?\d+(?:\.\d+)?$/

/**
 * csvOf formats rows as CSV (RFC 4180). A text that a spreadsheet would run as a formula gets a ' before it, which spreadsheets do
 * not show: names come from outside. Numbers stay numbers.
 */
export function csvOf(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = rows.map((row) => columns.map((column) => cell(row[column])).join(','))
  return [columns.join(','), ...lines, ''].join('\r\n')
}

function cell(value: unknown): string {
  const text =
    value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
  const isNumber = typeof value === 'number' && NUMBER.test(text)
  const harmless = !isNumber && FORMULA.test(text) ? `'${text}` : text
  return NEEDS_QUOTES.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
