import { familyOf, widthOf } from './families.ts'

/** The series of one family: the formatted labels of each, and its numbers, one series after the other. */
export interface FamilyReport {
  readonly labels: readonly string[]
  readonly values: Float64Array
}

/** What one process has counted: plain data, which workers send. */
export interface MetricsReport {
  /** Identifies a process, also one that got the number of one that has ended. */
  readonly instance: string
  readonly pid: number
  readonly families: Readonly<Record<string, FamilyReport>>
}

export function isMetricsReport(report: unknown): report is MetricsReport {
  return typeof report === 'object' && report !== null && 'instance' in report && 'families' in report
}

/** Collects series. A histogram has the number of each bucket, not cumulative, and the sum. */
export class ReportBuilder {
  readonly #families = new Map<string, { labels: string[]; values: number[]; width: number }>()

  add(name: string, labels: string, value: number): void {
    const { labels: all, values } = this.#of(name)
    all.push(labels)
    values.push(value)
  }

  /** Adds a series that has several numbers: `row` of a table of such rows. */
  addRow(name: string, labels: string, table: Float64Array, row = 0): void {
    const { labels: all, values, width } = this.#of(name)
    all.push(labels)
    for (let i = row * width; i < (row + 1) * width; i++) values.push(table[i])
  }

  build(): MetricsReport['families'] {
    return Object.fromEntries(
      Array.from(this.#families, ([name, { labels, values }]) => [name, { labels, values: Float64Array.from(values) }]),
    )
  }

  #of(name: string): { labels: string[]; values: number[]; width: number } {
    const known = this.#families.get(name)
    if (known !== undefined) return known
    const made = { labels: [], values: [], width: widthOf(familyOf(name)) }
    this.#families.set(name, made)
    return made
  }
}
