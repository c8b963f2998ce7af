import type { SluiceError } from '../errors.ts'
import { type CompileOptions, compileRules } from './compile.ts'
import { parseRules } from './parse.ts'
import { RulesError } from './problems.ts'
import type { RuleDocument } from './rule-document.ts'
import type { RuleSet } from './rule-set.ts'

/** A RuleText is one rule file: its name, as errors are to mention it, and its content. */
export interface RuleText {
  readonly file: string
  readonly text: string
}

/** loadRules parses and compiles rule files together. It throws a RulesError with everything that is wrong. */
export function loadRules(texts: readonly RuleText[], options: CompileOptions = {}): RuleSet {
  const documents: RuleDocument[] = []
  const refused: RulesError[] = []
  for (const { file, text } of texts) {
    const document = attempt(() => parseRules(file, text), refused)
    if (document !== undefined) documents.push(document)
  }
  const rules = attempt(() => compileRules(documents, options), refused)
  if (rules !== undefined && refused.length === 0) return rules
  const errors: SluiceError[] = refused.flatMap((each) => each.errors)
  throw new RulesError(
    errors,
    refused.reduce((sum, { omitted }) => sum + omitted, 0),
  )
}

/** attempt returns what a step makes, or notes why it was refused. */
function attempt<T>(step: () => T, refused: RulesError[]): T | undefined {
  try {
    return step()
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    refused.push(error)
    return undefined
  }
}
