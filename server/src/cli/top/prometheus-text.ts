/** One line of metrics: its labels, and its value. */
export interface Series {
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

/** Series by the name of their metric. */
export type Metrics = ReadonlyMap<string, readonly Series[]>

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?\s+(\S+)(?:\s+\S+)?(?:\s+#.*)?$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' }

/**
 * Reads the metrics of these names from the text form of Prometheus or OpenMetrics. What it cannot read, it leaves out.
 */
export function readMetrics(text: string, names: ReadonlySet<string>): Metrics {
  const metrics = new Map<string, Series[]>()
  for (const line of text.split('\n')) {
    const [, name, labels = '', written] = LINE.exec(line) ?? []
    if (name === undefined || !names.has(name)) continue
    const value = numberOf(written)
    if (Number.isNaN(value)) continue
    const series = metrics.get(name) ?? []
    metrics.set(name, series)
    series.push({ labels: labelsOf(labels), value })
  }
  return metrics
}

function labelsOf(text: string): ReadonlyMap<string, string> {
  const pairs = [...text.matchAll(LABEL)]
  return new Map(pairs.map(([, name, value]) => [name, value.replace(/\\(.)/g, (_, c: string) => ESCAPES[c] ?? c)]))
}

function numberOf(written: string): number {
  if (written === '+Inf') return Number.POSITIVE_INFINITY
  return written === '-Inf' ? Number.NEGATIVE_INFINITY : Number(written)
}

/** A histogram: by upper bound, how many values were no larger. */
export type Buckets = ReadonlyMap<number, number>

/** Adds the buckets of all series of a histogram up. */
export function bucketsOf(series: readonly Series[] = []): Buckets {
  const buckets = new Map<number, number>()
  for (const { labels, value } of series) {
    const bound = numberOf(labels.get('le') ?? '')
    if (!Number.isNaN(bound)) buckets.set(bound, (buckets.get(bound) ?? 0) + value)
  }
  return buckets
}

/** Estimates below what value such a share of all values lies, as Prometheus does. Undefined: there are none. */
export function quantile(share: number, buckets: Buckets): number | undefined {
  const bounds = [...buckets].sort(([a], [b]) => a - b)
  const total = bounds.at(-1)?.[1] ?? 0
  if (!(total > 0)) return undefined
  const rank = share * total
  const at = bounds.findIndex(([, count]) => count >= rank)
  const [below, countBelow] = at > 0 ? bounds[at - 1] : [0, 0]
  const [bound, count] = bounds[at]
  if (!Number.isFinite(bound)) return below
  return below + ((bound - below) * (rank - countBelow)) / Math.max(count - countBelow, 1e-9)
}
