import type { RulesCode } from './charge-planner.ts'
import { fullGateDecider } from './full-gate-decider.ts'
import { RulePlanner } from './rule-planner.ts'

const CODE: RulesCode = {
  planBy: (options, reader, cost, keys, report) => new RulePlanner(options, reader, cost, keys, report),
  newDecider: fullGateDecider,
}

/** Returns the code that plans by rules. In the packed library, rules-code.packed.ts takes the place of this file. */
export function rulesCode(): RulesCode {
  return CODE
}
