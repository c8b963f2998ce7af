import { addressOf } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import type { AuditQuery } from './audit-filter.ts'

export type Format = 'csv' | 'jsonl'

const PAGE_SIZE = 500
/** A browser holds the file in memory until it is kept: 100,000 entries are about 100 MB. */
const MAX_PAGES = 200

/** exportAddress is the first page of an export, as a link. */
export function exportAddress(query: AuditQuery, format: Format, cursor?: string): string {
  return addressOf('listAudit', { query: { ...query, format, page_size: PAGE_SIZE, cursor } })
}

/** withoutHead takes the line of titles off a page of CSV that is not the first. */
export function withoutHead(csv: string): string {
  return csv.slice(csv.indexOf('\n') + 1)
}

/** exportAll reads all pages of a filter. isWhole: there were no more. */
export async function exportAll(query: AuditQuery, format: Format): Promise<{ parts: string[]; isWhole: boolean }> {
  const parts: string[] = []
  let cursor: string | undefined
  do {
    const response = await fetch(exportAddress(query, format, cursor), {
      credentials: 'same-origin',
      cache: 'no-store',
    })
    if (!response.ok) throw await problemOf(response)
    const text = await response.text()
    parts.push(format === 'csv' && parts.length > 0 ? withoutHead(text) : text)
    cursor = response.headers.get('Sluice-Next-Cursor') ?? undefined
  } while (cursor !== undefined && parts.length < MAX_PAGES)
  return { parts, isWhole: cursor === undefined }
}

/** keepFile has the browser keep a text as a file. */
export function keepFile(parts: readonly string[], name: string, type: string): void {
  const address = URL.createObjectURL(new Blob([...parts], { type }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
