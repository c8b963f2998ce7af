import { ERROR_RULES } from 'sluice/internal/core/error-rules'
import { SluiceError } from 'sluice/internal/core/errors'
import { describeRules } from 'sluice/internal/core/rules/describe'
import { loadRules, type RuleText } from 'sluice/internal/core/rules/load'
import { placeOf, RulesError } from 'sluice/internal/core/rules/problems'
import { ruleWarnings } from 'sluice/internal/core/rules/rule-warnings'
import { describeRoutes } from '../app/gateway/describe-routes.ts'
import { withRoutes } from '../app/gateway/with-routes.ts'
import { plural, summary } from '../app/plural.ts'
import { readRules } from '../app/rules/read-rules.ts'
import { compatibilityLine, compileOptionsOf } from '../app/settings/compatibility.ts'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { COMPATIBILITY_FLAG, givenCompatibility } from './given-compatibility.ts'

const FLAGS = [{ flag: 'merge-domains' }, COMPATIBILITY_FLAG, { flag: 'json' }] as const

/** Reads rule files as the service would, and prints what it understood. Throws all errors together. */
export async function check(args: readonly string[]): Promise<void> {
  const flags = parseFlags('check', FLAGS, args)
  if (flags.rest.length === 0) throw new SluiceError('ARGUMENT_MISSING', 'check', 'no rules given')
  const compatibility = givenCompatibility(flags, process.env)
  const options = compileOptionsOf(flags.isOn('merge-domains'), compatibility)
  if (flags.isOn('json')) return checkForMachines(flags, options)
  const texts = await readRules(flags.rest, flags)
  const { inputs, routes } = withRoutes(texts)
  const rules = loadRules(inputs, options)
  const drawn = [...routes.flatMap(describeRoutes), ...describeRules(rules)].join('\n')
  const mode = compatibility === undefined ? '' : `${compatibilityLine(compatibility)}\n\n`
  const warnings = ruleWarnings(rules).map((line) => `warning: ${line}\n`)
  process.stdout.write(
    `${mode}${drawn}\n\n${warnings.join('')}ok: ${summary(rules)}, ${plural(texts.length, 'file')}\n`,
  )
}

/** Prints one line of JSON, whatever comes of it; docs/rules.md describes it. */
async function checkForMachines(flags: Flags, options: ReturnType<typeof compileOptionsOf>): Promise<void> {
  let texts: readonly RuleText[] = []
  try {
    texts = await readRules(flags.rest, flags)
    const rules = loadRules(withRoutes(texts).inputs, options)
    const { ruleCount: limits, domains } = rules
    const found = { files: texts.length, domains: domains.size, limits, problems: [], omitted: 0 }
    print({ ok: true, ...found, warnings: ruleWarnings(rules) })
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    const { errors, omitted } = error
    const problems = errors.map(problemJson)
    print({ ok: false, files: texts.length, domains: 0, limits: 0, problems, omitted, warnings: [] })
    process.exitCode = 1
  }
}

function problemJson(error: SluiceError): object {
  const { file, line, column } = placeOf(error)
  const { code, detail } = error
  return { file, line: line || null, column: column || null, code, message: detail, rule: ERROR_RULES[code] }
}

function print(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`)
}
