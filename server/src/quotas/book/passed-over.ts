/** The tables whose records can be wrong under the rules in force. */
export const CHECKED_TABLES = ['tiers', 'overrides'] as const
export type CheckedTable = (typeof CHECKED_TABLES)[number]

/** Receives a record that makes no limit, each time that it is compiled: what the rules say stands. */
export type PassOver = (table: CheckedTable, id: string, reason: string) => void

const MAX_REPORTED = 1_000
const MAX_REASON = 1_000

/** Counts records that a process has passed over, and reports each once. */
export class PassedOver {
  readonly #report: PassOver
  readonly #reported = new Set<string>()
  readonly #counts: Record<CheckedTable, number> = { tiers: 0, overrides: 0 }

  constructor(report: PassOver) {
    this.#report = report
  }

  get counts(): Readonly<Record<CheckedTable, number>> {
    return this.#counts
  }

  /**
   * Reports a record that was passed over. The same record with the same reason is reported once; after a thousand
   * reports, there are no more.
   */
  readonly hear: PassOver = (table, id, reason) => {
    const short = reason.slice(0, MAX_REASON)
    const name = JSON.stringify([table, id, short])
    if (this.#reported.has(name) || this.#reported.size >= MAX_REPORTED) return
    this.#reported.add(name)
    this.#counts[table]++
    this.#report(table, id, short)
  }
}
