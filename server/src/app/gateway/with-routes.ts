import type { SluiceError } from 'sluice/internal/core/errors'
import type { RuleInput, RuleText } from 'sluice/internal/core/rules/load'
import { parseRules } from 'sluice/internal/core/rules/parse'
import { RulesError } from 'sluice/internal/core/rules/problems'
import { isRoutesFile } from '../../edge/gateway-rules/file/check-routes-file.ts'
import type { GatewayPlan } from '../../edge/gateway-rules/file/compile-routes.ts'
import { readRoutes } from './read-routes.ts'

/** Files of which some are routes files: all their rules, and the content of the routes files. */
export interface WithRoutes {
  readonly inputs: readonly RuleInput[]
  readonly routes: readonly GatewayPlan[]
}

/** What a text that may be a routes file has. Most rule files have none of it, and are parsed once. */
const MARK = /^["']?(?:upstreams|routes)["']?\s*:/m

/** Separates routes files from rule files, by their content. Throws a RulesError that lists all errors in them. */
export function withRoutes(texts: readonly RuleText[]): WithRoutes {
  const routes: GatewayPlan[] = []
  const errors: SluiceError[] = []
  const inputs = texts.flatMap((input): readonly RuleInput[] => {
    try {
      if (!MARK.test(input.text) || !isRoutesFile(parseRules(input.file, input.text).value)) return [input]
      const plan = readRoutes(input)
      routes.push(plan)
      return plan.rules
    } catch (error) {
      if (!(error instanceof RulesError)) throw error
      errors.push(...error.errors)
      return []
    }
  })
  if (errors.length > 0) throw new RulesError(errors)
  return { inputs, routes }
}
