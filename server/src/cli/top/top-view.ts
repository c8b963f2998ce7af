import { type Buckets, bucketsOf, type Metrics, quantile, type Series } from './prometheus-text.ts'

/** What an admin port said at one time. */
export interface Sample {
  readonly atMs: number
  /** Counts of /stats. */
  readonly stats: Readonly<Record<string, number>>
  /** Undefined: there is no /metrics. */
  readonly metrics: Metrics | undefined
  readonly hotKeys: HotKeysAnswer | undefined
}

/** What of the answer of /admin/v1/hot-keys is shown. */
export interface HotKeysAnswer {
  readonly by: string
  readonly minutes: number
  readonly scope: string
  readonly reason?: string
  readonly nodes: number
  readonly rules: readonly {
    readonly domain: string
    readonly rule: string
    readonly requests: number
    readonly refused: number
    readonly exhausted: number
  }[]
  readonly keys: readonly {
    readonly domain: string
    readonly rule: string
    readonly key: string
    readonly count: number
    readonly share: number
  }[]
}

/** What `sluice top` shows, and prints with --json. null: not known. */
export interface TopView {
  readonly time: string
  readonly admin: string
  /** What is counted: whole decisions, or, where the service has no /metrics, hits on rules. */
  readonly counted: 'decisions' | 'hits'
  readonly perSecond: number | null
  readonly refusedPerSecond: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly store: StoreView
  readonly hotKeys: HotKeysAnswer | null
}

/** The state of the shared store. All of it is null where counters live in memory. */
export interface StoreView {
  /** Of the server that is worst off. */
  readonly circuit: 'closed' | 'half open' | 'open' | null
  readonly errorsPerSecond: number | null
  /** Verdicts that were made without it. */
  readonly fallbacksPerSecond: number | null
  readonly callMs: number | null
}

/** The metrics that a view is made of. */
export const METRICS: ReadonlySet<string> = new Set([
  'ratelimit_requests_total',
  'ratelimit_check_duration_seconds_bucket',
  'ratelimit_circuit_state',
  'ratelimit_redis_errors_total',
  'ratelimit_fallback_total',
  'ratelimit_redis_duration_seconds_sum',
  'ratelimit_redis_duration_seconds_count',
])

/** Makes a view of two samples. */
export function viewOf(admin: string, before: Sample, now: Sample): TopView {
  const seconds = (now.atMs - before.atMs) / 1_000
  const perSecond = (count: (sample: Sample) => number | undefined): number | null => {
    const [was, is] = [count(before), count(now)]
    // Less than before: it was restarted.
    return is === undefined || seconds <= 0 ? null : round(Math.max(0, is - (was ?? 0)) / seconds)
  }
  const hasDecisions = now.metrics?.has('ratelimit_requests_total') === true
  const durations = increase(durationsIn(before), durationsIn(now))
  return {
    time: new Date(now.atMs).toISOString(),
    admin,
    counted: hasDecisions ? 'decisions' : 'hits',
    perSecond: perSecond(hasDecisions ? decisions : (sample) => hits(sample, 'total_hits')),
    refusedPerSecond: perSecond(hasDecisions ? refusals : (sample) => hits(sample, 'over_limit')),
    p50Ms: msOf(quantile(0.5, durations)),
    p99Ms: msOf(quantile(0.99, durations)),
    store: {
      circuit: circuitIn(now),
      errorsPerSecond: perSecond(errors),
      fallbacksPerSecond: perSecond(fallbacks),
      callMs: callMs(before, now),
    },
    hotKeys: now.hotKeys ?? null,
  }
}

function sumOf({ metrics }: Sample, name: string, isMeant: (series: Series) => boolean = () => true) {
  const series = metrics?.get(name)?.filter(isMeant)
  return series?.reduce((sum, { value }) => sum + value, 0)
}

/** Adds up the counts whose names a pattern fits. Undefined: there is none. */
function statsOf({ stats }: Sample, pattern: RegExp): number | undefined {
  const values = Object.entries(stats).filter(([name]) => pattern.test(name))
  return values.length === 0 ? undefined : values.reduce((sum, [, value]) => sum + value, 0)
}

const decisions = (sample: Sample) => sumOf(sample, 'ratelimit_requests_total')
const refusals = (sample: Sample) =>
  sumOf(sample, 'ratelimit_requests_total', ({ labels }) => labels.get('outcome') === 'denied')
const hits = (sample: Sample, stat: string) =>
  statsOf(sample, new RegExp(`^ratelimit\\.service\\.rate_limit\\..*\\.${stat}$`, 's')) ?? 0

function isShared(sample: Sample): boolean {
  return (
    statsOf(sample, /^sluice\.redis\.calls$/) !== undefined || sample.metrics?.has('ratelimit_circuit_state') === true
  )
}

function errors(sample: Sample): number | undefined {
  const counted = sumOf(sample, 'ratelimit_redis_errors_total') ?? statsOf(sample, /^sluice\.redis\.faults\./)
  return counted ?? (isShared(sample) ? 0 : undefined)
}

function fallbacks(sample: Sample): number | undefined {
  const counted =
    sumOf(sample, 'ratelimit_fallback_total') ?? statsOf(sample, /^sluice\.fallback\.(open|closed|local)$/)
  return counted ?? (isShared(sample) ? 0 : undefined)
}

const CIRCUITS = ['closed', 'half open', 'open'] as const

function circuitIn({ metrics }: Sample): StoreView['circuit'] {
  const states = metrics?.get('ratelimit_circuit_state')?.map(({ value }) => value) ?? []
  return CIRCUITS[Math.max(...states)] ?? null
}

/** Returns how long a call to Redis took on average since the last sample. */
function callMs(before: Sample, now: Sample): number | null {
  const calls = (sample: Sample) =>
    sumOf(sample, 'ratelimit_redis_duration_seconds_count') ?? statsOf(sample, /^sluice\.redis\.calls$/) ?? 0
  const spentMs = (sample: Sample) => {
    const seconds = sumOf(sample, 'ratelimit_redis_duration_seconds_sum')
    return seconds === undefined ? (statsOf(sample, /^sluice\.redis\.call_us$/) ?? 0) / 1_000 : seconds * 1_000
  }
  const made = calls(now) - calls(before)
  return made > 0 ? round((spentMs(now) - spentMs(before)) / made) : null
}

const durationsIn = ({ metrics }: Sample): Buckets => bucketsOf(metrics?.get('ratelimit_check_duration_seconds_bucket'))

/** Returns what was added to a histogram. One that was restarted has everything it counted since. */
function increase(before: Buckets, now: Buckets): Buckets {
  const hasRestarted = [...now].some(([bound, count]) => count < (before.get(bound) ?? 0))
  return hasRestarted ? now : new Map([...now].map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)]))
}

function msOf(seconds: number | undefined): number | null {
  return seconds === undefined ? null : round(seconds * 1_000)
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
