/**
 * A BulkColumn says how a column of many rows is sent: its type in PostgreSQL, and its value in a row. Undefined is
 * NULL.
 */
export type BulkColumn<T> = readonly [name: string, type: 'int8' | 'text', of: (row: T) => number | string | undefined]

/**
 * Returns rows as `unnest` of one array for each column, and the arrays. One statement takes thousands of rows, and
 * its text is the same however many there are. Arrays are texts: drivers differ in what they make of arrays of
 * JavaScript.
 */
export function bulkOf<T>(
  rows: readonly T[],
  columns: readonly BulkColumn<T>[],
): { readonly from: string; readonly values: readonly string[] } {
  const names = columns.map(([name]) => name).join(', ')
  const arrays = columns.map(([, type], i) => `$${i + 1}::text::${type}[]`).join(', ')
  return {
    from: `unnest(${arrays}) AS bulk (${names})`,
    values: columns.map(([, , of]) => textOf(rows, of)),
  }
}

/** Writes an array as PostgreSQL reads it. */
export function arrayText(values: readonly (number | string | undefined)[]): string {
  return textOf(values, (value) => value)
}

/** Makes no array of the values on the way: a batch has ten thousand rows. */
function textOf<T>(rows: readonly T[], of: (row: T) => number | string | undefined): string {
  let text = '{'
  let before = ''
  for (const row of rows) {
    text += before + elementText(of(row))
    before = ','
  }
  return `${text}}`
}

const ESCAPED = /["\\]/g

function elementText(value: number | string | undefined): number | string {
  if (value === undefined) return 'NULL'
  if (typeof value === 'number') return value
  return value.includes('"') || value.includes('\\') ? `"${value.replace(ESCAPED, '\\$&')}"` : `"${value}"`
}
