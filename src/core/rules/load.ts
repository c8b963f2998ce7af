import { addErrorRules, type SluiceError } from '../errors.ts'
import { OPTIONAL_RULES } from '../library-error-rules.ts'
import { type CompileMemory, type CompileOptions, compileRules } from './compile.ts'
import { parseRules } from './parse.ts'
import { RulesError } from './problems.ts'
import { objectDocument, type RuleDocument } from './rule-document.ts'
import type { RuleSet } from './rule-set.ts'

/** One rule file: its name, as errors are to mention it, and its content. */
export interface RuleText {
  readonly file: string
  readonly text: string
}

/** A rule file as plain values: what errors are to call it, and what it says. */
export interface RuleObject {
  readonly file: string
  readonly value: unknown
}

/** One rule file, in either form. */
export type RuleInput = RuleText | RuleObject

/** Parses and compiles rule files together. It throws a RulesError with everything that is wrong. */
export function loadRules(inputs: readonly RuleInput[], options: CompileOptions = {}): RuleSet {
  return readAll(inputs, options, { parse: parseRules })
}

/** How files are read, and which domains are known from before. */
export interface LoadParts extends CompileMemory {
  parse(file: string, text: string): RuleDocument
}

/** Does the work of loadRules. */
export function readAll(inputs: readonly RuleInput[], options: CompileOptions, parts: LoadParts): RuleSet {
  addErrorRules(OPTIONAL_RULES)
  const documents: RuleDocument[] = []
  const refused: RulesError[] = []
  for (const input of inputs) {
    const document = attempt(() => documentOf(input, parts), refused)
    if (document !== undefined) documents.push(document)
  }
  const rules = attempt(() => compileRules(documents, options, parts), refused)
  if (rules !== undefined && refused.length === 0) return rules
  const errors: SluiceError[] = refused.flatMap((each) => each.errors)
  throw new RulesError(
    errors,
    refused.reduce((sum, { omitted }) => sum + omitted, 0),
  )
}

function documentOf(input: RuleInput, { parse }: LoadParts): RuleDocument {
  return 'text' in input ? parse(input.file, input.text) : objectDocument(input.file, input.value)
}

/** Returns whether two inputs are one file that did not change. Objects are the same when they are one object. */
export function isSameInput(a: RuleInput, b: RuleInput): boolean {
  if (a.file !== b.file) return false
  return 'text' in a ? 'text' in b && a.text === b.text : 'value' in b && a.value === b.value
}

/** Returns what a step makes, or notes why it was refused. */
function attempt<T>(step: () => T, refused: RulesError[]): T | undefined {
  try {
    return step()
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    refused.push(error)
    return undefined
  }
}
