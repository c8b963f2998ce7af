import type { HotKeyFigures } from '../observe/hot-keys/hot-key-alarm.ts'
import { labelsOf } from '../observe/metrics/labels.ts'
import { type MetricsReport, ReportBuilder } from '../observe/metrics/metrics-report.ts'
import { ProcessMetrics } from '../observe/metrics/process-metrics.ts'
import { type PlacedRule, rulesOf } from '../observe/metrics/rules-of.ts'
import type { FollowedRules } from './follow-rules.ts'
import type { QuotaFigures } from './quotas/node-quotas.ts'

/** The state of a node apart from its rules. */
export interface NodeState {
  /** Processes that answer requests, and processes that are starting. */
  workers(): { readonly ready: number; readonly starting: number }
  readonly maxRules: number
  readonly version: string
  /** This process is the primary: it answers no requests, and has separate figures. */
  readonly isPrimary: boolean
  /** What single keys do to rules. */
  hotKeys(): readonly HotKeyFigures[]
  /** The figures of its database; undefined without one. */
  quotas?(): QuotaFigures
  /** Other counts of the node, once for all of its processes. */
  readonly more?: readonly { report(into: ReportBuilder): void }[]
}

/** What a node reports once, however many processes it has: its rules, its workers, and what is running. */
export class NodeMetrics {
  readonly #rules: FollowedRules
  readonly #state: NodeState
  readonly #process: ProcessMetrics | undefined

  constructor(rules: FollowedRules, state: NodeState) {
    this.#rules = rules
    this.#state = state
    this.#process = state.isPrimary ? new ProcessMetrics(true) : undefined
  }

  report(): MetricsReport['families'] {
    const into = new ReportBuilder()
    this.#reportRules(into)
    this.#reportLimits(into)
    this.#reportHotKeys(into)
    this.#reportQuotas(into)
    const { workers, version, more = [] } = this.#state
    for (const source of more) source.report(into)
    for (const [state, count] of Object.entries(workers())) into.add('ratelimit_workers', labelsOf({ state }), count)
    into.add('ratelimit_build_info', labelsOf({ version, node: process.versions.node }), 1)
    this.#process?.report(into)
    return into.build()
  }

  #reportRules(into: ReportBuilder): void {
    const { loads, refusals } = this.#rules.counts()
    const { version, loadedAtMs, refusedAtMs = 0, isLastGood } = this.#rules.state()
    into.add('ratelimit_config_loads_total', '', loads)
    into.add('ratelimit_config_refusals_total', '', refusals)
    into.add('ratelimit_config_info', labelsOf({ version }), 1)
    into.add('ratelimit_config_loaded_timestamp_seconds', '', loadedAtMs / 1000)
    into.add('ratelimit_config_last_refused_timestamp_seconds', '', refusedAtMs / 1000)
    into.add('ratelimit_config_last_load_successful', '', Number(isLastGood))
    into.add('ratelimit_config_rules', '', this.#rules.current().ruleCount)
    for (const { name, ageMs, lastGoodAtMs, failures } of this.#rules.sources()) {
      const labels = labelsOf({ source: name })
      into.add('ratelimit_rules_source_age_seconds', labels, ageMs / 1000)
      into.add('ratelimit_rules_source_last_success_timestamp_seconds', labels, lastGoodAtMs / 1000)
      into.add('ratelimit_rules_source_failures_total', labels, failures)
    }
  }

  #reportQuotas(into: ReportBuilder): void {
    const figures = this.#state.quotas?.()
    if (figures === undefined) return
    for (const [table, count] of Object.entries(figures.records)) {
      into.add('ratelimit_quotas_records', labelsOf({ table }), count)
    }
    into.add('ratelimit_quotas_revision', '', figures.revision)
    into.add('ratelimit_quotas_age_seconds', '', figures.ageMs / 1000)
    into.add('ratelimit_quotas_in_force', '', Number(figures.isInForce))
    into.add('ratelimit_database_up', '', Number(figures.isUp))
    into.add('ratelimit_database_errors_total', '', figures.errors)
  }

  /** Adds a series for each rule that has separate series, from 0 on, and one for all other rules together. */
  #reportHotKeys(into: ReportBuilder): void {
    const series = new Map<string, { detected: number; exhausted: number }>()
    for (const { domain, rule } of this.#rulesWithSeries()) {
      series.set(labelsOf({ domain, rule: rule.id }), { detected: 0, exhausted: 0 })
    }
    const others = { detected: 0, exhausted: 0 }
    for (const { domain, rule, detected, exhausted } of this.#state.hotKeys()) {
      const sums = series.get(labelsOf({ domain, rule })) ?? others
      sums.detected += detected
      sums.exhausted += exhausted
    }
    if (others.detected + others.exhausted > 0) series.set(labelsOf({ domain: 'other', rule: 'other' }), others)
    for (const [labels, { detected, exhausted }] of series) {
      into.add('ratelimit_hot_keys_detected_total', labels, detected)
      into.add('ratelimit_keys_exhausted', labels, exhausted)
    }
  }

  /** Reports the limits of the rules that have separate series, if they have a limit. */
  #reportLimits(into: ReportBuilder): void {
    for (const { domain, rule, tier = 'none' } of this.#rulesWithSeries()) {
      if (rule.unlimited) continue
      const labels = labelsOf({ domain, rule: rule.id, tier })
      into.add('ratelimit_limit', labels, rule.limit.max)
      into.add('ratelimit_limit_window_seconds', labels, rule.limit.windowMs / 1000)
    }
  }

  /** Returns the rules that have separate series. */
  *#rulesWithSeries(): Generator<PlacedRule> {
    let left = this.#state.maxRules
    for (const placed of rulesOf(this.#rules.current())) {
      if (left-- === 0) return
      yield placed
    }
  }
}
