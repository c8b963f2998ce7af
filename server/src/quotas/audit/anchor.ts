import type { AuditHead } from './audit-entry.ts'
import type { SignedHead } from './signed-head.ts'

/** An entry as an anchor knows it. Without a signature, it comes from a copy of the log itself. */
export type AnchoredHead = AuditHead & { readonly signature?: string }

/**
 * Knows the end of the audit log outside of the database: it does not go back when an older database is restored.
 */
export interface Anchor {
  readonly kind: 'file' | 'redis' | 'audit-file'
  /** As problems name it. */
  readonly name: string
  /** Returns the last entry that it knows; undefined: none. Rejects when it cannot be read. */
  read(): Promise<AnchoredHead | undefined>
  /**
   * Puts a head in the place of the one that was read. Where another one is there by now, nothing is done. Undefined for an anchor
   * that is written otherwise.
   */
  readonly replace?: (before: AnchoredHead | undefined, head: SignedHead) => Promise<void>
  readonly close?: () => Promise<void>
}
