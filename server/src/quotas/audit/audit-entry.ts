import { createHash, randomUUID } from 'node:crypto'
import type { Actor } from './actor.ts'

/** One change as it is recorded: what was changed, and the values before and after. */
export interface NewEntry {
  /** Such as `customers.put`. */
  readonly action: string
  /** Such as `customers/acme`. */
  readonly target: string
  readonly customerId: string | undefined
  /** JSON, or undefined: it was not there. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/**
 * An entry as it is stored. Texts are stored as they are: jsonb would format them differently, and no hash would match.
 */
export interface AuditRow {
  readonly sequence: number
  readonly at_ms: number
  readonly actor_id: string
  readonly actor_name: string
  readonly action: string
  readonly target: string
  readonly customer_id: string | null
  readonly before: string | null
  readonly after: string | null
  readonly reason: string | null
  readonly address: string | null
  /** The hash of the entry before. */
  readonly previous: string
  readonly hash: string
}

/** The columns of an AuditRow. */
export const COLUMNS =
  'sequence, at_ms, actor_id, actor_name, action, target, customer_id, before, after, reason, address, previous, hash'

/** An AuditHead is the last entry. */
export interface AuditHead {
  readonly sequence: number
  readonly hash: string
}

/** Before the first entry of a log without a genesis: one that was begun by an older version. */
export const NO_ENTRY: AuditHead = { sequence: 0, hash: '' }

/** Before the genesis, entry 0. */
export const BEFORE_GENESIS: AuditHead = { sequence: -1, hash: '' }

/** Who writes entries that are of no one's doing. */
export const SLUICE: Actor = { id: 'sluice', name: 'sluice', address: undefined, reason: undefined }

/** Returns the entry that a log begins with. It is another one in each database. */
export function genesis(): NewEntry {
  return {
    action: 'audit.begin',
    target: `audit/${randomUUID()}`,
    customerId: undefined,
    before: undefined,
    after: undefined,
  }
}

/** Makes the entry that follows `head`. */
export function auditRow(head: AuditHead, entry: NewEntry, by: Actor, atMs: number): AuditRow {
  const row = {
    sequence: head.sequence + 1,
    at_ms: atMs,
    actor_id: by.id,
    actor_name: by.name,
    action: entry.action,
    target: entry.target,
    customer_id: entry.customerId ?? null,
    before: entry.before ?? null,
    after: entry.after ?? null,
    reason: by.reason ?? null,
    address: by.address ?? null,
    previous: head.hash,
  }
  return { ...row, hash: hashOf(row) }
}

/** Hashes everything that a row says, each field with its length: no two rows are the same bytes. */
export function hashOf(row: Omit<AuditRow, 'hash'>): string {
  const fields = [
    row.previous,
    row.sequence,
    row.at_ms,
    row.actor_id,
    row.actor_name,
    row.action,
    row.target,
    row.customer_id,
    row.before,
    row.after,
    row.reason,
    row.address,
  ]
  return createHash('sha256').update(fields.map(frame).join('')).digest('hex')
}

function frame(field: string | number | null): string {
  if (field === null) return '-;'
  const text = String(field)
  return `${Buffer.byteLength(text)}:${text};`
}
