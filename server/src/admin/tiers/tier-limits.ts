import { SluiceError } from 'sluice/internal/core/errors'
import { loadRules } from 'sluice/internal/core/rules/load'
import { placeOf, RulesError } from 'sluice/internal/core/rules/problems'
import { YamlText } from 'sluice/internal/core/rules/yaml-text'

const USED = [{ key: 'caller', tiered: true }]
const INDENT = '    '

/**
 * tierLimits returns the limits of a tier as a value. It throws all that is wrong with them, as a rule file would be refused; of a
 * text, at its lines.
 */
export function tierLimits(domain: string, tier: string, given: unknown): unknown {
  const file = `tier ${tier}`
  if (typeof given !== 'string') {
    loadRules([{ file, value: { domain, tiers: { [tier]: given }, descriptors: USED } }])
    return given
  }
  const above = [
    `domain: ${JSON.stringify(domain)}`,
    `descriptors: ${JSON.stringify(USED)}`,
    'tiers:',
    `  ${JSON.stringify(tier)}:`,
  ]
  const text = [...above, ...given.split('\n').map((line) => INDENT + line)].join('\n')
  try {
    loadRules([{ file, text }])
    const { tiers } = new YamlText(file, text).toValue() as { readonly tiers: Readonly<Record<string, unknown>> }
    return tiers[tier]
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    throw new RulesError(
      error.errors.map((each) => placedIn(each, above.length)),
      error.omitted,
    )
  }
}

/** placedIn says where an error is in the text alone, without the lines above it. */
function placedIn(error: SluiceError, linesAbove: number): SluiceError {
  const { file, line, column } = placeOf(error)
  if (line === 0) return error
  const where = [file, Math.max(1, line - linesAbove), Math.max(1, column - INDENT.length)].join(':')
  return new SluiceError(error.code, where, error.detail)
}
