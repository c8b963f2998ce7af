import { formatDuration } from '../core/duration.ts'
import { compileLimit, type Limit, type LimitOptions, withDefaultAlgorithm } from '../core/limit.ts'
import { DEFAULTS } from '../core/rules/rule-defaults.ts'
import { OPEN_PATH } from '../core/rules/rule-path.ts'
import type { Rule } from '../core/rules/rule-set.ts'

/** What a limit on Redis can set in addition to the limit. */
export interface SharedLimit {
  /**
   * The name of its counters: limits with the same name share them. Default: derived from the limit, as in `100-in-1m`.
   */
  readonly name?: string
  /** What happens while Redis does not answer. Default: `local`. */
  readonly onStoreFailure?: 'open' | 'closed' | 'local'
  /** local: the share of the budget that this process alone may admit. Default: 1. */
  readonly localShare?: number
  /** How long Redis may take. Default: that of `redisTimeoutMs`. */
  readonly timeoutMs?: number
}

/** Makes the rule of a limit that is all there is: every key has its own counter. */
export function limitRule(options: LimitOptions, shared: SharedLimit = {}): Rule {
  const { name, onStoreFailure, localShare, timeoutMs } = shared
  const limit = compileLimit(withDefaultAlgorithm(options))
  const shownName = name ?? nameOf(limit)
  return Object.freeze({
    ...DEFAULTS,
    id: shownName,
    name: shownName,
    limit,
    path: OPEN_PATH,
    ...(onStoreFailure !== undefined && { onStoreFailure }),
    ...(localShare !== undefined && { localShare }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  })
}

function nameOf({ max: limit, algorithm, windowMs, calendar }: Limit): string {
  if (algorithm === 'concurrency') return `${limit}-at-once`
  return calendar === undefined ? `${limit}-in-${formatDuration(windowMs)}` : `${limit}-in-1-${calendar.unit}`
}
