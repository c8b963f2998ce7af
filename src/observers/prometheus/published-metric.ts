/** One line of a metric, as prom-client wants it. */
export interface Sample {
  readonly labels: Record<string, string | number>
  readonly value: number
  readonly metricName?: string
}

/**
 * A metric of prom-client that is counted elsewhere, and read on each scrape: prom-client's counters look a label up at
 * each count, which takes longer than a decision.
 */
export class PublishedMetric {
  /** prom-client takes the suffix of counters off for OpenMetrics, and puts it on every line. */
  name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** How prom-client adds up the processes of a cluster. */
  readonly aggregator: 'sum' | 'max'
  readonly #samples: () => Sample[]

  constructor(name: string, type: PublishedMetric['type'], help: string, samples: () => Sample[]) {
    this.name = name
    this.type = type
    this.aggregator = type === 'gauge' ? 'max' : 'sum'
    this.help = help
    this.#samples = samples
  }

  async get() {
    const { name, help, type, aggregator } = this
    return { name, help, type, aggregator, values: this.#samples() }
  }

  /** What was decided cannot be taken back: resetting a registry changes nothing here. */
  reset(): void {}
}
