import { loadEntry } from '../core/load-entry.ts'
import type { RulesCode } from './charge-planner.ts'

/** Loads the code that plans by rules, where nothing is bundled. */
export function rulesCode(): RulesCode {
  const { code } = loadEntry('sluice/rules', "import { rules } from 'sluice/rules' and pass rules(…) with the rules")
  return code as RulesCode
}
