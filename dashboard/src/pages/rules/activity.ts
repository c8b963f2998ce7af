import type { RuleActivity } from '../../api/operations.ts'
import { ruleKey } from './switch-state.ts'

/** An Activity is what a rule did lately: how often it is asked now, and what it refused, or would have, in a while. */
export interface Activity {
  readonly perSecond: number
  readonly refused: number
  /** What the rule would have refused, were it not in shadow mode. */
  readonly shadowRefused: number
}

export type Activities = ReadonlyMap<string, Activity>

/** The while in which refusals are counted. */
export type Span = 'minute' | 'hour'

export const NO_ACTIVITY: Activity = { perSecond: 0, refused: 0, shadowRefused: 0 }

const MINUTE_SECONDS = 60

/** activitiesOf says by its key what each rule did. The rate is the mean of the last minute: that of one second jumps. */
export function activitiesOf(rules: readonly RuleActivity[], span: Span): Activities {
  return new Map(
    rules.map(({ domain, id, last_minute, last_hour }) => {
      const { refused, shadow_refused } = span === 'minute' ? last_minute : last_hour
      const asked = last_minute.allowed + last_minute.refused + last_minute.shadow_refused
      return [ruleKey(domain, id), { perSecond: asked / MINUTE_SECONDS, refused, shadowRefused: shadow_refused }]
    }),
  )
}
