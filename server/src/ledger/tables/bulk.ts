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
    values: columns.map(([, , of]) => arrayText(rows.map(of))),
  }
}

/** Writes an array as PostgreSQL reads it. */
export function arrayText(values: readonly (number | string | undefined)[]): string {
  return `{${values.map(elementText).join(',')}}`
}

function elementText(value: number | string | undefined): string {
  if (value === undefined) return 'NULL'
  return typeof value === 'number' ? String(value) : `"${value.replace(/["\\]/g, '\\$&')}"`
}
