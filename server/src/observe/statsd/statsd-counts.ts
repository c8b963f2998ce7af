/** Numbers that only grow, by name. */
export type Counts = Readonly<Record<string, number>>

/** What one process has counted so far. */
export interface CountsReport {
  /** Identifies the process. */
  readonly process: string
  readonly counts: Counts
}

/** More processes than a node ever has at a time. */
const MAX_PROCESSES = 2_048

/** Makes of counts that only grow what StatsD wants: how much each has grown since the last time. */
export class StatsdCounts {
  readonly #lastSent = new Map<string, Counts>()

  /** Returns what has grown, and by how much. A process that is new counts from 0; one that is gone, no more. */
  grown(reports: readonly CountsReport[]): Map<string, number> {
    const grown = new Map<string, number>()
    for (const { process, counts } of reports) {
      const before = this.#lastSent.get(process) ?? {}
      for (const [name, count] of Object.entries(counts)) {
        const more = count - (before[name] ?? 0)
        if (more > 0) grown.set(name, (grown.get(name) ?? 0) + more)
      }
      this.#lastSent.delete(process)
      this.#lastSent.set(process, counts)
    }
    // Who is gone is not asked again; one that did not answer in time is, and must not count from 0 then.
    for (const process of this.#lastSent.keys()) {
      if (this.#lastSent.size <= MAX_PROCESSES) break
      this.#lastSent.delete(process)
    }
    return grown
  }
}

/** How tags are sent: in the name, as gostats does for StatsD, or behind the value, as DogStatsD wants them. */
export interface LineForm {
  readonly isDog: boolean
  readonly tags: Readonly<Record<string, string>>
}

/** Formats counts as StatsD reads them: `name:5|c`, each with a line end. */
export function linesOf(counts: Iterable<readonly [name: string, count: number]>, { isDog, tags }: LineForm): string[] {
  const sorted = Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1))
  const inName = isDog ? '' : sorted.map(([key, value]) => `.__${key}=${value}`).join('')
  const behind = isDog && sorted.length > 0 ? `|#${sorted.map(([key, value]) => `${key}:${value}`).join(',')}` : ''
  return Array.from(counts, ([name, count]) => `${cleaned(name)}${inName}:${count}|c${behind}\n`)
}

/** Leaves out what would end a name, or a line. */
function cleaned(name: string): string {
  return name.replace(/[\s:|@#]/g, '_')
}
