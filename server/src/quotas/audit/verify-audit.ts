import type { Database } from '../ports.ts'
import type { AuditAnchor, SignedHead } from './audit-anchor.ts'
import { type AuditHead, type AuditRow, BEFORE_GENESIS, COLUMNS, hashOf, NO_ENTRY } from './audit-entry.ts'

/** An AuditReport says whether the log is what was written. `problems` has the first of each kind, in words. */
export interface AuditReport {
  readonly entries: number
  readonly head: AuditHead
  /** What outside of the database the end was compared with. Without any, an older copy of the whole log looks whole. */
  readonly anchors: readonly string[]
  readonly problems: readonly { readonly sequence: number; readonly what: string }[]
}

const AT_ONCE = 1000
const MOST_PROBLEMS = 100

/** verifyAudit reads the whole log at one moment and finds edits, entries that are missing or in another place, and a cut at the end. */
export function verifyAudit(db: Database, anchor: AuditAnchor): Promise<AuditReport> {
  // Read first: an entry that is added meanwhile is in the log before it is in the file.
  const filed = anchor.read()
  return db.transaction(
    async (tx) => {
      const walk = new Walk(filed)
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
      return walk.end(anchor, stored)
    },
    { snapshot: true },
  )
}

class Walk {
  readonly #filed: SignedHead | undefined
  readonly #problems: { sequence: number; what: string }[] = []
  #head: AuditHead = BEFORE_GENESIS
  #entries = 0
  #filedHash: string | undefined

  constructor(filed: SignedHead | undefined) {
    this.#filed = filed
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
    if (row.sequence === this.#filed?.sequence) this.#filedHash = row.hash
    this.#head = { sequence: row.sequence, hash: row.hash }
  }

  end(anchor: AuditAnchor, stored: SignedHead | undefined): AuditReport {
    this.#checkStored(anchor, stored)
    this.#checkFiled(anchor)
    return {
      entries: this.#entries,
      head: this.#head,
      anchors: this.#filed === undefined ? [] : ['audit-head.json'],
      problems: this.#problems,
    }
  }

  #checkStored(anchor: AuditAnchor, stored: SignedHead | undefined): void {
    const { sequence, hash } = this.#head
    if (stored === undefined) {
      this.#found(Math.max(sequence, 0), 'the note of the last entry is missing')
    } else if (!anchor.isSigned(stored))
      this.#found(stored.sequence, 'the note of the last entry has a wrong signature')
    else if (stored.sequence > sequence) this.#cut(stored.sequence)
    else if (stored.sequence < sequence) this.#found(stored.sequence + 1, 'it was not added by Sluice')
    else if (stored.hash !== hash) this.#found(sequence, 'it is not the last entry that was written')
  }

  #checkFiled(anchor: AuditAnchor): void {
    const filed = this.#filed
    if (filed === undefined) return
    if (!anchor.isSigned(filed)) this.#found(filed.sequence, 'the file audit-head.json has a wrong signature')
    else if (filed.sequence > this.#head.sequence) this.#cut(filed.sequence)
    else if (filed.hash !== this.#filedHash)
      this.#found(filed.sequence, 'it is not the entry that audit-head.json knows')
  }

  #cut(last: number): void {
    this.#found(this.#head.sequence + 1, `the end is missing, up to entry ${last}`)
  }

  #found(sequence: number, what: string): void {
    const isKnown = this.#problems.some((each) => each.sequence === sequence && each.what === what)
    if (!isKnown && this.#problems.length < MOST_PROBLEMS) this.#problems.push({ sequence, what })
  }
}
