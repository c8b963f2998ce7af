import { type Family, familyOf, type Merging, widthOf } from './families.ts'
import { labelsOf } from './labels.ts'
import type { MetricsReport } from './metrics-report.ts'

/** The series of one family: their labels, each once, and their numbers, one series after the other. */
export class Series {
  readonly width: number
  readonly #merging: Merging
  readonly #at = new Map<string, number>()
  readonly #values: number[] = []

  constructor(family: Family) {
    this.width = widthOf(family)
    this.#merging = family.merging
  }

  /** Adds a series: the numbers from `from` on. What it does to one of the same labels, its family says. */
  add(labels: string, numbers: ArrayLike<number>, from = 0): void {
    const { width } = this
    const values = this.#values
    const at = this.#at.get(labels)
    if (at === undefined) {
      this.#at.set(labels, values.length)
      for (let i = from; i < from + width; i++) values.push(numbers[i])
      return
    }
    for (let i = 0; i < width; i++) values[at + i] = merge(this.#merging, values[at + i], numbers[from + i])
  }

  /** Adds all of another. */
  addAll({ values, list }: Series): void {
    for (const [labels, at] of list) this.add(labels, values, at)
  }

  get values(): readonly number[] {
    return this.#values
  }

  /** The labels of each series, and where its numbers begin. */
  get list(): ReadonlyMap<string, number> {
    return this.#at
  }
}

function merge(merging: Merging, known: number, other: number): number {
  if (merging === 'sum') return known + other
  // A worker and its replacement have one name: the latest report is used.
  return merging === 'max' ? Math.max(known, other) : other
}

/** The series of all families, by the names of these. */
export type MergedMetrics = Map<string, Series>

/** Returns whether a family keeps the counts of a process that has ended. */
export function isKept({ type, merging }: Family): boolean {
  return merging === 'sum' && type !== 'gauge'
}

/** Adds the report of a process: of a worker, with its name where each has separate series. */
export function mergeInto(merged: MergedMetrics, report: MetricsReport['families'], worker: string): void {
  for (const [name, { labels, values }] of Object.entries(report)) {
    const { merging } = familyOf(name)
    const series = seriesOf(merged, name)
    for (let i = 0; i < labels.length; i++) {
      const seriesLabels = merging === 'worker' ? joined(labelsOf({ worker }), labels[i]) : labels[i]
      series.add(seriesLabels, values, i * series.width)
    }
  }
}

/** Adds what was merged before. */
export function mergeAll(merged: MergedMetrics, others: MergedMetrics): void {
  for (const [name, series] of others) seriesOf(merged, name).addAll(series)
}

/** Returns the merged metrics with one more report, without changing them. */
export function mergedWith(before: MergedMetrics, report: MetricsReport['families'], worker: string): MergedMetrics {
  const merged = new Map(before)
  for (const name of Object.keys(report)) {
    const own = new Series(familyOf(name))
    const known = before.get(name)
    if (known !== undefined) own.addAll(known)
    merged.set(name, own)
  }
  mergeInto(merged, report, worker)
  return merged
}

function seriesOf(merged: MergedMetrics, name: string): Series {
  const known = merged.get(name)
  if (known !== undefined) return known
  const series = new Series(familyOf(name))
  merged.set(name, series)
  return series
}

function joined(first: string, second: string): string {
  return second === '' ? first : `${first},${second}`
}
