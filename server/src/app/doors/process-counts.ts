import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { HotKeys, TURNS_A_SECOND } from '../../observe/hot-keys/hot-keys.ts'
import { ProcessWatch } from '../../observe/live/process-watch.ts'
import { RuleStats } from '../../observe/rule-stats.ts'
import { StoreStats } from '../../observe/store-stats.ts'
import { Unmatched } from '../../observe/unmatched.ts'
import type { Log } from '../log/log.ts'
import { unmatchedLog } from '../log/unmatched-log.ts'
import type { Config } from '../settings/config.ts'
import { DoorMetrics } from './door-metrics.ts'

/** What one process counts. All of it exists before the store and the doors do. */
export class ProcessCounts {
  readonly store = new StoreStats()
  readonly rules: RuleStats
  readonly unmatched: Unmatched
  /** Undefined: metrics are off. */
  readonly metrics: DoorMetrics | undefined
  /** Counts for StatsD, if it is configured. */
  readonly statsd: RuleStats | undefined
  readonly hotKeys: HotKeys | undefined
  readonly watch: ProcessWatch
  readonly #turning: NodeJS.Timeout | undefined

  constructor(config: Config, rules: () => RuleSet, log: Log) {
    this.rules = new RuleStats({ asReference: config.compatibility !== undefined })
    this.unmatched = new Unmatched(unmatchedLog(log))
    this.metrics = config.metrics.isOn ? new DoorMetrics(rules, config.metrics.maxRules) : undefined
    this.statsd = config.statsd === undefined ? undefined : new RuleStats({ asReference: true })
    this.watch = new ProcessWatch(config.redisUrl !== undefined)
    const hotKeys = config.hotKeys ? new HotKeys(performance.now()) : undefined
    this.hotKeys = hotKeys
    this.#turning = hotKeys && setInterval(() => hotKeys.turn(performance.now()), 1_000 / TURNS_A_SECOND).unref()
  }

  close(): void {
    this.unmatched.stop()
    this.metrics?.stop()
    this.watch.stop()
    clearInterval(this.#turning)
  }
}
