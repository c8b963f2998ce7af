import { type Family, familyOf, widthOf } from './families.ts'
import { labelsOf } from './labels.ts'
import type { MetricsReport } from './metrics-report.ts'

/** Series are the series of one family, by their labels. */
export type Series = Map<string, Float64Array>

/** MergedMetrics are the series of all families, by the names of these. */
export type MergedMetrics = Map<string, Series>

/** isKept says whether a family goes on counting what a process counted that has ended. */
export function isKept({ type, merging }: Family): boolean {
  return merging === 'sum' && type !== 'gauge'
}

/** mergeInto adds the report of a process: of a worker, with its name where each has series of its own. */
export function mergeInto(merged: MergedMetrics, report: MetricsReport['families'], worker: string): void {
  for (const [name, { labels, values }] of Object.entries(report)) {
    const family = familyOf(name)
    const width = widthOf(family)
    const series = seriesOf(merged, name)
    labels.forEach((own, i) => {
      const spelled = family.merging === 'worker' ? joined(labelsOf({ worker }), own) : own
      addTo(series, spelled, values.subarray(i * width, (i + 1) * width), family.merging)
    })
  }
}

/** mergeAll adds what was merged before. */
export function mergeAll(merged: MergedMetrics, others: MergedMetrics): void {
  for (const [name, series] of others) {
    const into = seriesOf(merged, name)
    for (const [labels, values] of series) addTo(into, labels, values, familyOf(name).merging)
  }
}

function seriesOf(merged: MergedMetrics, name: string): Series {
  const known = merged.get(name)
  if (known !== undefined) return known
  const series: Series = new Map()
  merged.set(name, series)
  return series
}

function addTo(series: Series, labels: string, values: Float64Array, merging: Family['merging']): void {
  const known = series.get(labels)
  // A worker and the one that takes its place have one name: the one that came last is told.
  if (known === undefined || merging === 'worker') series.set(labels, values.slice())
  else if (merging === 'max') for (let i = 0; i < known.length; i++) known[i] = Math.max(known[i], values[i])
  else for (let i = 0; i < known.length; i++) known[i] += values[i]
}

function joined(first: string, second: string): string {
  return second === '' ? first : `${first},${second}`
}
