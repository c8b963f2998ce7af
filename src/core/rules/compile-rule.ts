import type { CalendarOptions } from '../calendar.ts'
import { canCount, hindranceOf } from '../consistency.ts'
import { parseDuration } from '../duration.ts'
import { SluiceError } from '../errors.ts'
import { compileLimit, isLeasable, type Limit, type LimitOptions, MAX_COUNT } from '../limit.ts'
import {
  COUNTING_KEYS,
  keyOfOption,
  LIMIT_OPTIONS,
  type LimitOption,
  type LimitOptionKey,
  type RateLimitRule,
  type Unit,
} from '../limit-options.ts'
import { type DomainDefaults, withDefaults } from './limit-defaults.ts'
import type { Problems } from './problems.ts'
import { DEFAULTS } from './rule-defaults.ts'
import type { RuleDocument } from './rule-document.ts'
import type { Cost, PathStep, Rule, RuleLedger, RuleResponse } from './rule-set.ts'
import type { SharedParts } from './shared-parts.ts'

const DAY_MS = 86_400_000

/** Months and years have 30 and 365 days, as in envoyproxy/ratelimit. `calendar` gives the real ones. */
export const UNIT_MS: Readonly<Record<Unit, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  year: 365 * DAY_MS,
}

const UNLIMITED = /* @__PURE__ */ compileLimit({ limit: MAX_COUNT, window: 1_000 })

/** Where a rate_limit stands: its file, its path there, and what it inherits from its descriptor. */
export interface RuleContext {
  readonly source: RuleDocument
  readonly at: readonly PropertyKey[]
  readonly id: string
  readonly path: readonly PathStep[]
  readonly defaults: DomainDefaults
  readonly shared: SharedParts
  readonly shadow: boolean
  readonly quota: boolean
}

/** Turns one rate_limit into a Rule, or reports what is wrong with it. */
export function compileRule(own: RateLimitRule, ownContext: RuleContext, problems: Problems): Rule | undefined {
  const rate = withDefaults(own, ownContext.defaults.values)
  const context = rate === own ? ownContext : { ...ownContext, source: sourceOf(own, ownContext) }
  const { source, at, id, path } = context
  const report: Report = (option, detail) =>
    problems.add('RULE_COMBINATION', source.locate([...at, option], 'key'), detail)
  checkCombinations(rate, report)
  const limit = rate.unlimited === true ? UNLIMITED : compileRuleLimit(rate, context, problems)
  const jitter = durationOf(rate, 'retry_after_jitter', 0, context, problems)
  const sync = durationOf(rate, 'sync_interval', DEFAULTS.syncIntervalMs, context, problems)
  const openForMs = durationOf(rate, 'open_for', DEFAULTS.openForMs, context, problems)
  if (limit === undefined || jitter === undefined || sync === undefined || openForMs === undefined) return undefined
  const { consistency: given = defaultConsistency(limit, rate, path) } = rate
  // A default is for limits that can follow it.
  const consistency = own.consistency === undefined && !canCount(limit, given) ? 'exact' : given
  if (!canCount(limit, consistency)) {
    const other = hindranceOf(limit)
    report('consistency', `consistency: ${consistency} cannot be combined with ${keyOfOption(other) ?? other}`)
  }
  return Object.freeze({
    id,
    name: rate.name ?? id,
    isNamed: rate.name != null,
    limit,
    unlimited: rate.unlimited === true,
    shadow: context.shadow,
    quota: context.quota,
    replaces: rate.replaces?.map(({ name }) => name) ?? DEFAULTS.replaces,
    cost: costOf(rate.cost),
    consistency,
    syncIntervalMs: sync,
    onStoreFailure: rate.on_store_failure ?? DEFAULTS.onStoreFailure,
    openForMs,
    localShare: rate.local_share ?? DEFAULTS.localShare,
    timeoutMs: rate.timeout_ms ?? DEFAULTS.timeoutMs,
    priority: rate.priority ?? DEFAULTS.priority,
    response: responseOf(rate.response),
    retryAfterJitterMs: jitter,
    ledger: ledgerOf(rate.ledger),
    path,
  })
}

/** Locates options of a limit that come from the defaults of its domain there. */
function sourceOf(own: RateLimitRule, { source, at, defaults }: RuleContext): RuleDocument {
  return {
    ...source,
    locate: (path, of) => {
      const option = path[at.length]
      const isOwn = option === undefined || own[option as LimitOptionKey] !== undefined
      const place = isOwn ? undefined : defaults.locate(path.slice(at.length), of === 'key' ? of : undefined)
      return place ?? source.locate(path, of)
    },
  }
}

/**
 * Like `leased` for a rule with a single counter for all callers: every node asks about that one all the time, and on a
 * cluster one server would have to answer them all.
 */
function defaultConsistency(limit: Limit, rate: RateLimitRule, path: readonly PathStep[]): Rule['consistency'] {
  const hasCaller = path.some(({ isOpen }) => isOpen)
  return hasCaller || rate.unlimited === true || !isLeasable(limit) ? DEFAULTS.consistency : 'leased'
}

type Report = (option: string, detail: string) => void

function checkCombinations(rate: RateLimitRule, report: Report): void {
  if (rate.unlimited === true) checkUnlimited(rate, report)
  else checkCounting(rate, report)
  for (const [key, [needed, value]] of NEEDS) {
    const given = rate[needed] ?? defaultOf(needed)
    if (rate[key] !== undefined && given !== value) report(key, `${key} without ${needed}: ${value}`)
  }
  if (rate.name != null && rate.replaces?.some(({ name }) => name === rate.name)) {
    report('replaces', `${JSON.stringify(rate.name)} replaces itself`)
  }
}

const NEEDS = /* @__PURE__ */ Object.entries<LimitOption>(LIMIT_OPTIONS).flatMap(([key, { needs }]) =>
  needs === undefined ? [] : [[key, needs] as [LimitOptionKey, [LimitOptionKey, string]]],
)

function defaultOf(key: LimitOptionKey): unknown {
  const row: LimitOption = LIMIT_OPTIONS[key]
  return row.default
}

/** Reports options that say how to count. A number is accepted, as in envoyproxy/ratelimit. */
function checkUnlimited(rate: RateLimitRule, report: Report): void {
  for (const key of COUNTING_KEYS) {
    if (rate[key] !== undefined && key !== 'requests_per_unit') report(key, `${key} and unlimited cannot be combined`)
  }
}

function checkCounting(rate: RateLimitRule, report: Report): void {
  if (rate.requests_per_unit === undefined) report('requests_per_unit', 'requests_per_unit is missing')
  if (rate.unit === undefined) return
  if (rate.window !== undefined) report('window', 'window and unit cannot be combined')
  if (rate.calendar !== undefined) report('calendar', 'calendar and unit cannot be combined')
  if (rate.algorithm === 'concurrency') report('unit', 'unit and concurrency cannot be combined')
}

function compileRuleLimit(rate: RateLimitRule, context: RuleContext, problems: Problems): Limit | undefined {
  if (rate.requests_per_unit === undefined) return undefined
  try {
    return context.shared.limit(limitOptions(rate))
  } catch (error) {
    reportOption(error, context, problems)
    return undefined
  }
}

/** Reports an error of compileLimit at the option that it is about, under the option's name in YAML. */
function reportOption(error: unknown, { source, at }: RuleContext, problems: Problems): void {
  if (!(error instanceof SluiceError)) throw error
  const [option, ...inner] = error.where.split('.')
  const parts = [keyOfOption(option) ?? option, ...inner.map(snakeCase)]
  problems.add(error.code, source.locate([...at, ...parts]), `${parts.join('.')}: ${error.detail}`)
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Translates a limit of a rule file into the options of compileLimit. */
function limitOptions(rate: RateLimitRule): LimitOptions {
  const options: Record<string, unknown> = {}
  for (const key of COUNTING_KEYS) {
    const { option }: LimitOption = LIMIT_OPTIONS[key]
    const value = key === 'window' ? windowOf(rate) : key === 'calendar' ? calendarOf(rate) : rate[key]
    if (option !== undefined && value !== undefined) options[option] = value
  }
  return options as unknown as LimitOptions
}

function windowOf({ unit, window, calendar, algorithm }: RateLimitRule): number | string | undefined {
  if (unit === undefined) return window
  // There a unit is wrong, and is reported as such: as a window it would be reported twice.
  if (calendar !== undefined || algorithm === 'concurrency') return undefined
  return UNIT_MS[unit.toLowerCase() as Unit]
}

/** What rule files call the time zone of the customer who is calling. */
const OF_CUSTOMER = 'customer'

function calendarOf({ calendar }: RateLimitRule): CalendarOptions | undefined {
  if (calendar === undefined) return undefined
  const { unit, time_zone: timeZone } = calendar
  if (timeZone === OF_CUSTOMER) return { unit, isOfCustomer: true }
  return { unit, ...(timeZone !== undefined && { timeZone }) }
}

function durationOf(
  rate: RateLimitRule,
  key: 'retry_after_jitter' | 'sync_interval' | 'open_for',
  fallback: number,
  context: RuleContext,
  problems: Problems,
): number | undefined {
  const value = rate[key]
  if (value === undefined) return fallback
  try {
    return parseDuration(value, key)
  } catch (error) {
    reportOption(error, context, problems)
    return undefined
  }
}

function costOf(cost: RateLimitRule['cost']): Cost {
  if (cost === undefined) return DEFAULTS.cost
  if (typeof cost === 'number') return cost
  return Object.freeze({ by: cost.by, weights: new Map(Object.entries(cost.weights)), otherwise: cost.default ?? 1 })
}

function ledgerOf(ledger: RateLimitRule['ledger']): RuleLedger | undefined {
  if (ledger === undefined) return DEFAULTS.ledger
  const { meter, amount = 'cost' } = typeof ledger === 'string' ? { meter: ledger } : ledger
  return Object.freeze({ meter, amount })
}

function responseOf(response: RateLimitRule['response']): RuleResponse | undefined {
  if (response === undefined) return undefined
  const { status = 429, body } = response
  return Object.freeze({
    status,
    body: typeof body === 'object' ? JSON.stringify(body) : body,
    headers: Object.entries(response.headers ?? {}),
  })
}
