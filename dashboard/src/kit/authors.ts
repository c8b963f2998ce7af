import type { AuditEntry } from '../api/operations.ts'

/** An Author is who created or changed a record last, and why. */
export interface Author {
  readonly name: string
  readonly at: string
  readonly reason: string | null
}

/** authorsOf finds the last change of each record, in entries of which the newest is the first. */
export function authorsOf(entries: readonly AuditEntry[]): ReadonlyMap<string, Author> {
  const authors = new Map<string, Author>()
  for (const { target, actor, at, reason } of entries) {
    if (!authors.has(target.id)) authors.set(target.id, { name: actor.name, at, reason })
  }
  return authors
}
