import type { Limit } from '../../core/limit.ts'
import { DEFAULTS } from '../../core/rules/rule-defaults.ts'
import { OPEN_PATH } from '../../core/rules/rule-path.ts'
import type { Rule } from '../../core/rules/rule-set.ts'
import type { ChargePolicy } from '../../engine/ports.ts'

/** Makes the rule by which the hits of a key are counted. Whether they are too many is for others to say. */
export function hitRule(limit: Limit, policy: Omit<ChargePolicy, 'localShare'>): Rule {
  return Object.freeze({ ...DEFAULTS, id: 'hits', name: 'hits', limit, ...policy, localShare: 1, path: OPEN_PATH })
}
