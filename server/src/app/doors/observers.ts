import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { Quotas } from 'sluice/internal/engine/quotas'
import type { ProcessView } from '../../admin/process/process-view.ts'
import { DecisionLog } from '../../observe/decision-log.ts'
import { type DoorObserver, type ObservedDoor, observerOf } from '../../observe/door-observer.ts'
import { UsageCounter } from '../../quotas/usage/usage-counter.ts'
import { type ReportUsage, UsageReporter } from '../../quotas/usage/usage-reporter.ts'
import { LineQueue } from '../decisions/line-queue.ts'
import type { Config } from '../settings/config.ts'
import type { Traces } from '../traces/traces.ts'
import type { ProcessCounts } from './process-counts.ts'

/** The observers that not every process has. */
export interface ObserverParts {
  readonly traces?: Traces | undefined
  /** Takes lines of the decision log, if there is one. Resolves when it can take more, and never rejects. */
  readonly decisions?: ((text: string) => Promise<void>) | undefined
  /** The quotas in force, if there are any. */
  readonly quotas?: (() => Quotas) | undefined
  /** Takes what customers used, if that is recorded. */
  readonly usage?: ReportUsage | undefined
}

interface Observed {
  readonly rules: () => RuleSet
  readonly keys: KeyEncoder
  readonly counts: ProcessCounts
  readonly callers: ProcessView
}

/** Everything that is notified of decisions in one process. */
export class Observers {
  /** Whether doors need to read the trace of a request. */
  readonly readsTraces: boolean
  readonly #all: readonly DoorObserver[]
  readonly #closing: readonly (() => Promise<void>)[]

  constructor(config: Config, { rules, keys, counts, callers }: Observed, parts: ObserverParts) {
    const decisions = openDecisionLog(config, rules, keys, parts.decisions)
    const usage = openUsageCounter(config, parts)
    const tracing = present([parts.traces?.observer, decisions?.observer])
    this.readsTraces = tracing.length > 0
    this.#all = [
      counts.rules,
      counts.unmatched,
      ...callers.observers,
      ...present([counts.metrics?.decisions, counts.statsd, counts.hotKeys]),
      ...tracing,
      ...present([usage?.counter]),
    ]
    this.#closing = present([
      decisions?.close,
      parts.traces && (async () => parts.traces?.close()),
      usage && (async () => usage.reporter.close()),
    ])
  }

  /** Returns the observer of a door's decisions. */
  of(door: ObservedDoor) {
    return observerOf(door, this.#all)
  }

  async close(): Promise<void> {
    await Promise.all(this.#closing.map((close) => close()))
  }
}

function present<T>(all: readonly (T | undefined)[]): readonly T[] {
  return all.filter((each) => each !== undefined)
}

function openDecisionLog(
  { decisionLog, region, shadowMode }: Config,
  rules: () => RuleSet,
  keys: KeyEncoder,
  send: ObserverParts['decisions'],
) {
  if (decisionLog === undefined || send === undefined) return undefined
  const queue = new LineQueue(send)
  const observer = new DecisionLog({ ...decisionLog, region, shadowMode }, { rules, keys, write: queue.write })
  const close = (): Promise<void> => {
    observer.close()
    return queue.close()
  }
  return { observer, close }
}

function openUsageCounter({ shadowMode }: Config, { quotas, usage: report }: ObserverParts) {
  if (quotas === undefined || report === undefined) return undefined
  const counter = new UsageCounter(quotas, { isShadow: shadowMode, full: () => reporter.now() })
  const reporter = new UsageReporter(counter, report)
  return { counter, reporter }
}
