import type { AuditRow } from '../audit/audit-entry.ts'

/** An AuditSink takes the audit log to another place, in its order. */
export interface AuditSink {
  readonly kind: 'file' | 'kafka'
  /** Under which its position is kept. */
  readonly name: string
  /** One node at a time writes to it: what it keeps is the same for all. */
  readonly isShared: boolean
  /**
   * Gets ready, and returns the last entry that it has for sure; undefined if that is unknown, and the confirmed
   * position counts. It is called again after a failure.
   */
  open(): Promise<number | undefined>
  /** Resolves when all of the entries are safe there. When it rejects, some of them may be. */
  write(rows: readonly AuditRow[]): Promise<void>
  close(): Promise<void>
}
