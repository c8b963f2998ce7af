import { type Metric, register } from 'prom-client'
import { checkOptions } from '../../core/check-options.ts'
import { type FormsOf, has, listOf, TEXT, whole } from '../../core/option-forms.ts'
import type { Observer } from '../../engine/observer.ts'
import { OUTCOMES } from '../../engine/verdict-outcome.ts'
import { AppCounts } from './app-counts.ts'
import { PublishedMetric, type Sample } from './published-metric.ts'

export { SluiceError } from '../../core/errors.ts'
export type { Observer } from '../../engine/observer.ts'

/** A Registry of prom-client, whichever format it speaks. */
export interface MetricRegistry {
  registerMetric(metric: Metric): void
}

/** Where the metrics are registered, and how fine they are. */
export interface PrometheusOptions {
  /** Where the metrics are registered. Default: that of prom-client. */
  readonly registry?: MetricRegistry
  /** The label `door`, which separates several limiters of an app, each with its own registry. Default: `app`. */
  readonly door?: string
  /** The bounds of the times of decisions, in seconds, rising. Default: 25 µs to 1 s. */
  readonly buckets?: readonly number[]
  /** How many rules have separate series; all others are counted as `other`. Default: 1,000. */
  readonly maxRules?: number
}

const SECONDS = [25e-6, 50e-6, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1] as const
const MAX_RULES = 1_000
const FORMS: FormsOf<PrometheusOptions> = {
  registry: has('registerMetric'),
  door: TEXT,
  buckets: listOf({ expected: 'a number above 0', is: (value) => typeof value === 'number' && value > 0 }),
  maxRules: whole(1, 1_000_000),
}

/**
 * Makes an observer that counts decisions for Prometheus, by the names of the service:
 *
 *   app.use(rateLimit({ limit: 100, window: '1m', observer: prometheus() }))
 *
 * It needs the package prom-client. One observer may hear several limiters.
 */
export function prometheus(options: PrometheusOptions = {}): Observer {
  checkOptions(options, FORMS)
  const { registry = register, door = 'app', buckets = SECONDS, maxRules = MAX_RULES } = options
  const counts = new AppCounts(
    [...buckets].sort((a, b) => a - b),
    maxRules,
  )
  for (const metric of metricsOf(counts, door)) registry.registerMetric(metric as unknown as Metric)
  return counts
}

function metricsOf(counts: AppCounts, door: string): readonly PublishedMetric[] {
  return [
    new PublishedMetric('ratelimit_decisions_total', 'counter', 'Verdicts of rules, by outcome.', () =>
      Array.from(counts.rules()).flatMap(({ domain, rule, outcomes }) =>
        OUTCOMES.flatMap((outcome, i) =>
          outcomes[i] === 0 ? [] : [{ labels: { domain, rule, outcome, door }, value: outcomes[i] }],
        ),
      ),
    ),
    new PublishedMetric('ratelimit_requests_total', 'counter', 'Whole decisions, by outcome.', () => {
      const { allowed, denied, withoutRule: unmatched } = counts
      return Object.entries({ allowed, denied, unmatched }).map(([outcome, value]) => ({
        labels: { outcome, door },
        value,
      }))
    }),
    new PublishedMetric('ratelimit_failopen_total', 'counter', 'Decisions that a rule admitted without a count.', () =>
      Array.from(counts.rules(), ({ domain, rule, failOpen: value }) => ({ labels: { domain, rule }, value })),
    ),
    new PublishedMetric('ratelimit_fallback_total', 'counter', 'Decisions without Redis, by mode and reason.', () =>
      Array.from(counts.fallbacks(), ([labels, value]) => ({ labels, value })),
    ),
    new PublishedMetric('ratelimit_redis_deadline_seconds', 'gauge', 'How long decisions wait for a server.', () =>
      Array.from(counts.deadlines(), ([shard, ms]) => ({ labels: { shard }, value: ms / 1000 })),
    ),
    new PublishedMetric(TIMES, 'histogram', 'Time of a decision, the store included.', () => timesOf(counts, door)),
  ]
}

const TIMES = 'ratelimit_check_duration_seconds'

function timesOf({ bounds, times, timeSum }: AppCounts, door: string): Sample[] {
  let count = 0
  const buckets = Array.from(times, (own, i): Sample => {
    count += own
    return { labels: { le: bounds[i] ?? '+Inf', door }, value: count, metricName: `${TIMES}_bucket` }
  })
  return [
    ...buckets,
    { labels: { door }, value: timeSum, metricName: `${TIMES}_sum` },
    { labels: { door }, value: count, metricName: `${TIMES}_count` },
  ]
}
