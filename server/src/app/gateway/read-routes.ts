import type { RuleInput } from 'sluice/internal/core/rules/load'
import { parseRules } from 'sluice/internal/core/rules/parse'
import { objectDocument } from 'sluice/internal/core/rules/rule-document'
import { compileRoutes, type GatewayPlan } from '../../edge/gateway-rules/file/compile-routes.ts'
import { readPem } from '../settings/pem-files.ts'

const RESOURCES = { readFile: readPem, variable: (name: string) => process.env[name] || undefined }

/** Makes a plan of a routes file, or of its form in code. Throws a RulesError that lists all errors. */
export function readRoutes(input: RuleInput): GatewayPlan {
  const document = 'text' in input ? parseRules(input.file, input.text) : objectDocument(input.file, input.value)
  return compileRoutes(document, input.file, RESOURCES)
}
