import {
  COUNTING_KEYS,
  LIMIT_OPTIONS,
  type LimitDefaults,
  type LimitOption,
  type LimitOptionKey,
  type RateLimitRule,
} from '../limit-options.ts'
import type { Problems } from './problems.ts'
import type { RuleDocument } from './rule-document.ts'

/** The defaults of a domain for its limits, and where they are defined. */
export interface DomainDefaults {
  readonly values: LimitDefaults
  /** Names the place of an option, or of a part of it; undefined where no file says it. */
  locate(path: readonly PropertyKey[], of?: 'key'): string | undefined
}

/** A file of a domain, and the defaults that it gives. */
export interface DefaultsSource {
  readonly source: RuleDocument
  readonly defaults: LimitDefaults | undefined
}

/**
 * Merges the defaults of all files of a domain over the service's defaults. Two files may repeat a default but not
 * contradict each other.
 */
export function domainDefaults(
  files: readonly DefaultsSource[],
  service: LimitDefaults,
  problems: Problems,
): DomainDefaults {
  const values: Record<string, unknown> = { ...service }
  const sources = new Map<PropertyKey, RuleDocument>()
  for (const { source, defaults = {} } of files) {
    for (const [key, value] of Object.entries(defaults)) {
      const before = sources.get(key)
      if (before !== undefined && JSON.stringify(values[key]) !== JSON.stringify(value)) {
        const detail = `${key} differs from ${before.locate(['defaults', key])}`
        problems.add('RULE_COMBINATION', source.locate(['defaults', key], 'key'), detail)
      }
      if (before === undefined) sources.set(key, source)
      values[key] = value
    }
  }
  return { values, locate: (path, of) => sources.get(path[0])?.locate(['defaults', ...path], of) }
}

/** The options that define a window. A limit that sets one of them ignores the default of all three. */
const WINDOW_KEYS: readonly LimitOptionKey[] = ['unit', 'window', 'calendar']

/**
 * Completes a limit with the defaults of its domain. Defaults that do not apply are omitted: a burst where its
 * algorithm has none, a unit where the limit sets a window.
 */
export function withDefaults(rate: RateLimitRule, defaults: LimitDefaults): RateLimitRule {
  const given = Object.keys(defaults).filter((key) => rate[key as LimitOptionKey] === undefined) as LimitOptionKey[]
  if (given.length === 0) return rate
  const completed: RateLimitRule = { ...rate }
  const hasWindow = WINDOW_KEYS.some((key) => rate[key] !== undefined)
  const algorithm = rate.algorithm ?? defaults.algorithm ?? LIMIT_OPTIONS.algorithm.default
  for (const key of given) {
    if (rate.unlimited === true && (COUNTING_KEYS as readonly string[]).includes(key)) continue
    if (WINDOW_KEYS.includes(key) && (hasWindow || algorithm === 'concurrency')) continue
    const { algorithms }: LimitOption = LIMIT_OPTIONS[key]
    if (algorithms?.includes(algorithm) ?? true)
      Object.assign(completed, { [key]: defaults[key as keyof LimitDefaults] })
  }
  for (const key of given) if (!isNeeded(key, completed)) delete completed[key]
  return completed
}

/** Whether an option still has an effect given the other options of the limit. */
function isNeeded(key: LimitOptionKey, rate: RateLimitRule): boolean {
  const { needs }: LimitOption = LIMIT_OPTIONS[key]
  if (needs === undefined) return true
  const [needed, value] = needs as [LimitOptionKey, string]
  const row: LimitOption = LIMIT_OPTIONS[needed]
  return (rate[needed] ?? row.default) === value
}
