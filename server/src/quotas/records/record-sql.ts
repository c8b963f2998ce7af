import type { RecordTable } from '../../records/record-table.ts'

/** Builds what a SELECT reads: rows as `toRecord` takes them. */
export function selectList({ columns }: Pick<RecordTable<unknown>, 'columns'>): string {
  return Object.entries(columns)
    .map(([name, kind]) => (kind === 'time' ? `(extract(epoch FROM ${name}) * 1000)::int8 AS ${name}` : name))
    .join(', ')
}

/** Builds a statement that puts the rows of one parameter, a list in JSON. */
export function upsertSql({ table, columns }: RecordTable<unknown>): string {
  const names = Object.keys(columns)
  const values = names.map((column) => (columns[column] === 'time' ? `to_timestamp(${column} / 1000)` : column))
  const types = names.map((column) => `${column} ${columns[column] === 'time' ? 'float8' : columns[column]}`)
  const updates = names.filter((column) => column !== 'id').map((column) => `${column} = excluded.${column}`)
  return `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')}
    FROM jsonb_to_recordset($1::jsonb) AS r (${types.join(', ')})
    ON CONFLICT (id) DO UPDATE SET ${updates.join(', ')}`
}
