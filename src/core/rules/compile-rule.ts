import { parseDuration } from '../duration.ts'
import { SluiceError } from '../errors.ts'
import { compileLimit, isLeasable, type Limit, type LimitOptions, MAX_COUNT } from '../limit.ts'
import type { RuleDocument } from './parse.ts'
import type { Problems } from './problems.ts'
import type { Cost, PathStep, Rule, RuleResponse } from './rule-set.ts'
import type { CheckedRateLimit, UNITS } from './schema.ts'
import type { SharedParts } from './shared-parts.ts'

const DAY_MS = 86_400_000

/** Months and years are those of envoyproxy/ratelimit: 30 and 365 days. `calendar` gives the real ones. */
export const UNIT_MS: Readonly<Record<(typeof UNITS)[number], number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  year: 365 * DAY_MS,
}

const UNLIMITED = compileLimit({ limit: MAX_COUNT, window: 1_000 })

/** DEFAULTS are the settings of a rule that says nothing about them. */
export const DEFAULTS = {
  unlimited: false,
  shadow: false,
  quota: false,
  replaces: [] as readonly string[],
  cost: 1 as Cost,
  consistency: 'exact',
  syncIntervalMs: 100,
  onStoreFailure: 'open',
  localShare: 0.1,
  timeoutMs: 5,
  priority: 1,
  response: undefined as RuleResponse | undefined,
  retryAfterJitterMs: 0,
} as const

/** A RulePlace is where a rate_limit stands: its file, its path there, and what it inherits from its descriptor. */
export interface RulePlace {
  readonly source: RuleDocument
  readonly at: readonly PropertyKey[]
  readonly id: string
  readonly path: readonly PathStep[]
  readonly shared: SharedParts
  readonly shadow: boolean
  readonly quota: boolean
}

/** Options that say how to count: of no use where there is no limit. A number beside `unlimited` is let be, as ever. */
const COUNTING = [
  'unit',
  'window',
  'algorithm',
  'burst',
  'sub_windows',
  'calendar',
  'anchor',
  'lease_ttl',
  'count_denied',
] as const

/** compileRule turns one rate_limit into a Rule, or reports what is wrong with it. */
export function compileRule(rate: CheckedRateLimit, place: RulePlace, problems: Problems): Rule | undefined {
  const { source, at, id, path } = place
  const report = (option: string, detail: string): void =>
    problems.add('RULE_COMBINATION', source.locate([...at, option], 'key'), detail)
  checkCombinations(rate, report)
  const limit = rate.unlimited === true ? UNLIMITED : compileRuleLimit(rate, place, problems)
  const jitter = durationOf(rate, 'retry_after_jitter', 0, place, problems)
  const sync = durationOf(rate, 'sync_interval', DEFAULTS.syncIntervalMs, place, problems)
  if (limit === undefined || jitter === undefined || sync === undefined) return undefined
  const { consistency = defaultConsistency(limit, rate, path) } = rate
  if (consistency !== 'exact' && !isLeasable(limit)) {
    report('consistency', `consistency: ${consistency} beside ${limit.countDenied ? 'count_denied' : limit.algorithm}`)
  }
  return Object.freeze({
    id,
    name: rate.name ?? id,
    limit,
    unlimited: rate.unlimited === true,
    shadow: place.shadow,
    quota: place.quota,
    replaces: rate.replaces?.map(({ name }) => name) ?? DEFAULTS.replaces,
    cost: costOf(rate.cost),
    consistency,
    syncIntervalMs: sync,
    onStoreFailure: rate.on_store_failure ?? DEFAULTS.onStoreFailure,
    localShare: rate.local_share ?? DEFAULTS.localShare,
    timeoutMs: rate.timeout_ms ?? DEFAULTS.timeoutMs,
    priority: rate.priority ?? DEFAULTS.priority,
    response: responseOf(rate.response),
    retryAfterJitterMs: jitter,
    path,
  })
}

/**
 * defaultConsistency is `leased` for a rule that has one counter, whoever calls: every node asks about that one all the
 * time, and on a cluster one server would have to answer them all.
 */
function defaultConsistency(limit: Limit, rate: CheckedRateLimit, path: readonly PathStep[]): Rule['consistency'] {
  const hasCaller = path.some(({ isOpen }) => isOpen)
  return hasCaller || rate.unlimited === true || !isLeasable(limit) ? DEFAULTS.consistency : 'leased'
}

function checkCombinations(rate: CheckedRateLimit, report: (option: string, detail: string) => void): void {
  if (rate.unlimited === true) {
    for (const option of COUNTING) if (rate[option] !== undefined) report(option, `${option} beside unlimited`)
  } else checkCounting(rate, report)
  if (rate.sync_interval !== undefined && rate.consistency !== 'eventual') {
    report('sync_interval', 'sync_interval without consistency: eventual')
  }
  if (rate.local_share !== undefined && rate.on_store_failure !== 'local') {
    report('local_share', 'local_share without on_store_failure: local')
  }
  if (rate.name !== undefined && rate.replaces?.some(({ name }) => name === rate.name)) {
    report('replaces', `${JSON.stringify(rate.name)} replaces itself`)
  }
}

function checkCounting(rate: CheckedRateLimit, report: (option: string, detail: string) => void): void {
  if (rate.requests_per_unit === undefined) report('requests_per_unit', 'requests_per_unit is missing')
  if (rate.unit === undefined) return
  if (rate.window !== undefined) report('window', 'window beside unit')
  if (rate.calendar !== undefined) report('calendar', 'calendar beside unit')
  if (rate.algorithm === 'concurrency') report('unit', 'unit beside concurrency')
}

function compileRuleLimit(rate: CheckedRateLimit, place: RulePlace, problems: Problems): Limit | undefined {
  if (rate.requests_per_unit === undefined) return undefined
  try {
    return place.shared.limit(limitOptions(rate, rate.requests_per_unit))
  } catch (error) {
    reportOption(error, place, problems)
    return undefined
  }
}

/** reportOption reports an error of compileLimit at the option that it is about, under the option's name in YAML. */
function reportOption(error: unknown, { source, at }: RulePlace, problems: Problems): void {
  if (!(error instanceof SluiceError)) throw error
  const [camel, ...inner] = error.where.split('.')
  const option = camel === 'limit' ? 'requests_per_unit' : camel.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)
  const parts = [option, ...inner.map((part) => part.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`))]
  problems.add(error.code, source.locate([...at, ...parts]), `${parts.join('.')}: ${error.detail}`)
}

function limitOptions(rate: CheckedRateLimit, limit: number): LimitOptions {
  const { calendar } = rate
  // Beside a calendar, and on concurrency, a unit is reported already: as a window it would be told twice.
  const isUnitInVain = calendar !== undefined || rate.algorithm === 'concurrency'
  const window = rate.unit === undefined ? rate.window : isUnitInVain ? undefined : UNIT_MS[rate.unit]
  return {
    limit,
    ...(window !== undefined && { window }),
    ...(rate.algorithm !== undefined && { algorithm: rate.algorithm }),
    ...(rate.burst !== undefined && { burst: rate.burst }),
    ...(rate.sub_windows !== undefined && { subWindows: rate.sub_windows }),
    ...(calendar !== undefined && {
      calendar: { unit: calendar.unit, ...(calendar.time_zone !== undefined && { timeZone: calendar.time_zone }) },
    }),
    ...(rate.anchor !== undefined && { anchor: rate.anchor }),
    ...(rate.lease_ttl !== undefined && { leaseTtl: rate.lease_ttl }),
    ...(rate.count_denied !== undefined && { countDenied: rate.count_denied }),
  }
}

function durationOf(
  rate: CheckedRateLimit,
  option: 'retry_after_jitter' | 'sync_interval',
  fallback: number,
  place: RulePlace,
  problems: Problems,
): number | undefined {
  const value = rate[option]
  if (value === undefined) return fallback
  try {
    return parseDuration(value, option)
  } catch (error) {
    reportOption(error, place, problems)
    return undefined
  }
}

function costOf(cost: CheckedRateLimit['cost']): Cost {
  if (cost === undefined) return DEFAULTS.cost
  if (typeof cost === 'number') return cost
  return Object.freeze({ by: cost.by, weights: new Map(Object.entries(cost.weights)), otherwise: cost.default ?? 1 })
}

function responseOf(response: CheckedRateLimit['response']): RuleResponse | undefined {
  if (response === undefined) return undefined
  return Object.freeze({
    status: response.status ?? 429,
    body: response.body,
    headers: Object.entries(response.headers ?? {}),
  })
}
