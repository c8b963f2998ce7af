import { SluiceError } from 'sluice/internal/core/errors'
import { describeRules } from 'sluice/internal/core/rules/describe'
import { loadRules } from 'sluice/internal/core/rules/load'
import { readRuleFiles } from 'sluice/internal/sources/rule-files'
import { plural, summary } from '../app/plural.ts'
import { compatibilityLine, compileOptionsOf } from '../app/settings/compatibility.ts'
import { parseFlags } from '../app/settings/flags.ts'
import { COMPATIBILITY_FLAG, givenCompatibility } from './given-compatibility.ts'

/** check reads rule files as the service would, and prints what it understood. Errors are thrown, all at once. */
export async function check(args: readonly string[]): Promise<void> {
  const flags = parseFlags('check', [{ flag: 'merge-domains' }, COMPATIBILITY_FLAG], args)
  if (flags.rest.length === 0) throw new SluiceError('ARGUMENT_MISSING', 'check', 'no rules given')
  const compatibility = givenCompatibility(flags, process.env)
  const options = compileOptionsOf(flags.isOn('merge-domains'), compatibility)
  const texts = await readRuleFiles(flags.rest)
  const rules = loadRules(texts, options)
  const drawn = describeRules(rules).join('\n')
  const mode = compatibility === undefined ? '' : `${compatibilityLine(compatibility)}\n\n`
  process.stdout.write(`${mode}${drawn}\n\nok: ${summary(rules)}, ${plural(texts.length, 'file')}\n`)
}
