import { SluiceError } from 'sluice/internal/core/errors'
import { describeRules } from 'sluice/internal/core/rules/describe'
import { loadRules } from 'sluice/internal/core/rules/load'
import { readRuleFiles } from 'sluice/internal/sources/rule-files'
import { plural, summary } from '../app/plural.ts'
import { parseFlags } from '../app/settings/flags.ts'

/** check reads rule files as the service would, and prints what it understood. Errors are thrown, all at once. */
export async function check(args: readonly string[]): Promise<void> {
  const flags = parseFlags('check', [{ flag: 'merge-domains' }], args)
  if (flags.rest.length === 0) throw new SluiceError('ARGUMENT_MISSING', 'check', 'no rules given')
  const mergeDomains = flags.isOn('merge-domains')
  const texts = await readRuleFiles(flags.rest)
  const rules = loadRules(texts, { mergeDomains })
  const drawn = describeRules(rules).join('\n')
  process.stdout.write(`${drawn}\n\nok: ${summary(rules)}, ${plural(texts.length, 'file')}\n`)
}
