import { SluiceError } from 'sluice/internal/core/errors'
import type { RecordTable } from '../../records/record-table.ts'
import { readCursor } from '../audit/cursor.ts'
import type { ListQuery } from '../database/database.ts'
import { selectList } from './record-sql.ts'

const MOST = 1000
const LONGEST_SEARCH = 200

/** Returns how many entries a page has: from 1 to 1000. */
export const pageSize = ({ limit }: ListQuery): number => Math.min(Math.max(Math.trunc(limit) || 1, 1), MOST)

/** Builds the SQL of a page of a list, with one row more than fits, which shows whether there is another page. */
export function listSql(table: RecordTable<unknown>, query: ListQuery): { sql: string; values: readonly unknown[] } {
  const values: unknown[] = []
  const parameter = (value: unknown): string => `$${values.push(value)}`
  const conditions = Object.entries(query.where ?? {}).map(([field, value]) => {
    if (!Object.hasOwn(table.filters, field)) throw unknownFilter(table, field)
    const filter = table.filters[field]
    const given = `${parameter(value)}::text`
    return typeof filter === 'string' ? `${filter} = ${given}` : filter(given)
  })
  if (query.search !== undefined && query.search !== '') {
    const search = query.search.slice(0, LONGEST_SEARCH)
    const [exact, folded] = [parameter(beginning(search)), parameter(beginning(search.toLowerCase()))]
    const matches = table.searched.map((column) => `lower(${column}) COLLATE "C" LIKE ${folded}::text`)
    const more = table.foundBy === undefined ? [] : [table.foundBy(`${folded}::text`)]
    conditions.push(`(${[`id LIKE ${exact}::text`, ...matches, ...more].join(' OR ')})`)
  }
  if (query.after !== undefined) conditions.push(`id > ${parameter(readCursor(query.after, table.table))}::text`)
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const sql = `SELECT ${selectList(table)} FROM ${table.table} ${where} ORDER BY id LIMIT ${pageSize(query) + 1}`
  return { sql, values }
}

/** Escapes a prefix as a pattern for LIKE in which every character stands for itself. */
function beginning(text: string): string {
  return `${text.replace(/[\\%_]/g, '\\$&')}%`
}

function unknownFilter({ filters }: RecordTable<unknown>, field: string): SluiceError {
  const known = Object.keys(filters).join(', ')
  return new SluiceError('FILTER_UNKNOWN', 'filter', `got ${JSON.stringify(field.slice(0, 64))}, not one of ${known}`)
}
