import type { RulesGiven, RulesPlace } from '../http-door/rule-options.ts'
import { rulesCode } from '../http-door/rules-code.ts'

export { SluiceError } from '../core/errors.ts'
export type { RuleFile } from '../core/rules/schema.ts'
export type { RulesGiven, RulesPlace }

/** @internal For middleware with rules where nothing is bundled. */
export const code: object = rulesCode()

/**
 * Names rules together with the code for them, which bundlers follow. Where nothing is bundled, the rules alone do the
 * same.
 *
 *   rateLimit({ rules: rules({ domain: 'api', descriptors: [] }) })
 */
export function rules(place: RulesGiven): RulesPlace {
  return { place, code }
}
