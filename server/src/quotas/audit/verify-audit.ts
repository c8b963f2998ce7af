import type { Database } from '../database/database.ts'
import type { Anchor, AnchoredHead } from './anchor.ts'
import { type AuditHead, type AuditRow, BEFORE_GENESIS, COLUMNS, hashOf, NO_ENTRY } from './audit-entry.ts'
import type { HeadSignatures, SignedHead } from './signed-head.ts'

/** An AuditReport says whether the log is what was written. `problems` has the first of each kind, in words. */
export interface AuditReport {
  readonly entries: number
  readonly head: AuditHead
  /** What outside of the database the end was compared with. Without any, an older copy of the whole log looks whole. */
  readonly anchors: readonly string[]
  /** Anchors with which it was not compared, and why. */
  readonly unread: readonly { readonly anchor: string; readonly reason: string }[]
  readonly problems: readonly { readonly sequence: number; readonly what: string }[]
}

const AT_ONCE = 1000
const MOST_PROBLEMS = 100

/**
 * Reads the whole log at one moment and finds edits, entries that are missing or in another place, and a cut at the
 * end.
 */
export async function verifyAudit(
  db: Database,
  signatures: HeadSignatures,
  anchors: readonly Anchor[],
): Promise<AuditReport> {
  // Read first: an entry that is added meanwhile is in the log before an anchor knows it.
  const known = await Promise.all(anchors.map(readAnchor))
  return db.transaction(
    async (tx) => {
      const walk = new Walk(known)
      for (let from = Number.MIN_SAFE_INTEGER; ; ) {
        const rows = await tx.query<AuditRow>(
          `SELECT ${COLUMNS} FROM sluice.audit WHERE sequence > $1 ORDER BY sequence LIMIT ${AT_ONCE}`,
          [from],
        )
        for (const row of rows) walk.step(row)
        if (rows.length < AT_ONCE) break
        from = rows[rows.length - 1].sequence
      }
      const [stored] = await tx.query<SignedHead>('SELECT sequence, hash, signature FROM sluice.audit_head')
      return walk.end(signatures, stored)
    },
    { snapshot: true },
  )
}

/** What an anchor knows, or why that cannot be compared. */
interface Known {
  readonly anchor: string
  readonly head?: AnchoredHead
  readonly reason?: string
}

async function readAnchor(anchor: Anchor): Promise<Known> {
  try {
    const head = await anchor.read()
    return head === undefined ? { anchor: anchor.name, reason: 'it knows no entry' } : { anchor: anchor.name, head }
  } catch (error) {
    return { anchor: anchor.name, reason: error instanceof Error ? error.message : String(error) }
  }
}

class Walk {
  readonly #known: readonly Known[]
  /** The hashes of the entries that anchors know. */
  readonly #hashes = new Map<number, string | undefined>()
  readonly #problems: { sequence: number; what: string }[] = []
  #head: AuditHead = BEFORE_GENESIS
  #entries = 0

  constructor(known: readonly Known[]) {
    this.#known = known
    for (const { head } of known) if (head !== undefined) this.#hashes.set(head.sequence, undefined)
  }

  step(row: AuditRow): void {
    const isFirst = this.#head === BEFORE_GENESIS
    // A log that was begun by an older version has no genesis.
    if (isFirst && row.sequence === 1 && row.previous === NO_ENTRY.hash) this.#head = NO_ENTRY
    if (row.sequence > 0) this.#entries++
    if (row.sequence !== this.#head.sequence + 1) {
      const [first, last] = [this.#head.sequence + 1, row.sequence - 1]
      this.#found(first, first === last ? 'it is missing' : `entries ${first} to ${last} are missing`)
    } else if (row.previous !== this.#head.hash) this.#found(row.sequence, 'it does not follow the one before')
    if (hashOf(row) !== row.hash) this.#found(row.sequence, 'it was changed')
    if (this.#hashes.has(row.sequence)) this.#hashes.set(row.sequence, row.hash)
    this.#head = { sequence: row.sequence, hash: row.hash }
  }

  end(signatures: HeadSignatures, stored: SignedHead | undefined): AuditReport {
    this.#checkStored(signatures, stored)
    for (const { anchor, head } of this.#known) if (head !== undefined) this.#checkAnchored(signatures, anchor, head)
    return {
      entries: this.#entries,
      head: this.#head,
      anchors: this.#known.flatMap(({ anchor, head }) => (head === undefined ? [] : [anchor])),
      unread: this.#known.flatMap(({ anchor, reason }) => (reason === undefined ? [] : [{ anchor, reason }])),
      problems: this.#problems,
    }
  }

  #checkStored(signatures: HeadSignatures, stored: SignedHead | undefined): void {
    const { sequence, hash } = this.#head
    if (stored === undefined) {
      this.#found(Math.max(sequence, 0), 'the note of the last entry is missing')
    } else if (!signatures.isSigned(stored))
      this.#found(stored.sequence, 'the note of the last entry has a wrong signature')
    else if (stored.sequence > sequence) this.#cut(stored.sequence)
    else if (stored.sequence < sequence) this.#found(stored.sequence + 1, 'it was not added by Sluice')
    else if (stored.hash !== hash) this.#found(sequence, 'it is not the last entry that was written')
  }

  #checkAnchored(signatures: HeadSignatures, anchor: string, { signature, ...head }: AnchoredHead): void {
    const { sequence, hash } = head
    if (signature !== undefined && !signatures.isSigned({ ...head, signature }))
      this.#found(sequence, `what ${anchor} has was not signed by Sluice, or by another installation`)
    else if (sequence > this.#head.sequence) this.#cut(sequence, `, as ${anchor} says`)
    // A log that an older version began has no entry 0.
    else if (hash !== (this.#hashes.get(sequence) ?? NO_ENTRY.hash))
      this.#found(sequence, `it is not the entry that ${anchor} knows`)
  }

  #cut(last: number, source = ''): void {
    this.#found(this.#head.sequence + 1, `the end is missing, up to entry ${last}${source}`)
  }

  #found(sequence: number, what: string): void {
    const isKnown = this.#problems.some((each) => each.sequence === sequence && each.what === what)
    if (!isKnown && this.#problems.length < MOST_PROBLEMS) this.#problems.push({ sequence, what })
  }
}
