import type { RuleVerdict } from 'sluice/internal/core/combine'
import type { RuleForm } from './rule-forms.ts'

/** RateLimitResponse.Code. */
export const OK = 1
export const OVER_LIMIT = 2

/** What an answer says about one descriptor. */
export interface Status {
  code: typeof OK | typeof OVER_LIMIT
  /**
   * The verdict that is reported: the tightest of the enforcing rules, else of shadow rules. None where no limit
   * applies.
   */
  binding: RuleVerdict | undefined
  /** Its rule, encoded. */
  form: RuleForm | undefined
  /** Without a limit 0 as in envoyproxy/ratelimit; where a rule says so, `unlimited` is as much as there is. */
  remaining: number
  resetSeconds: number
}
