import type { AuditRow } from '../audit/audit-entry.ts'

/**
 * Formats an entry as JSON on one line. `before` and `after` stand there byte for byte as they are in the database, so
 * that the hash of an entry can be computed from its line.
 */
export function auditLine(row: AuditRow): string {
  const head = JSON.stringify({
    sequence: row.sequence,
    at: new Date(row.at_ms).toISOString(),
    at_ms: row.at_ms,
    actor: { id: row.actor_id, name: row.actor_name, address: row.address },
    action: row.action,
    target: row.target,
    customer_id: row.customer_id,
    reason: row.reason,
  })
  const tail = JSON.stringify({ previous: row.previous, hash: row.hash })
  return `${head.slice(0, -1)},"before":${embedded(row.before)},"after":${embedded(row.after)},${tail.slice(1)}`
}

/** Returns JSON within JSON. A line has no line breaks, and a text that is no JSON is a string. */
function embedded(text: string | null): string {
  if (text === null) return 'null'
  try {
    const value = JSON.parse(text)
    return /[\r\n]/.test(text) ? JSON.stringify(value) : text
  } catch {
    return JSON.stringify(text)
  }
}
