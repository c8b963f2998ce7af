import { type CompiledDomain, type CompileOptions, compileRules } from './compile.ts'
import { type RuleInput, readAll } from './load.ts'
import { parseRules } from './parse.ts'
import type { RuleDocument } from './rule-document.ts'
import type { RuleSet } from './rule-set.ts'
import type { RuleFile } from './schema.ts'

/** What one file comes to, compiled with others. */
export interface RuleFigures {
  readonly limits: number
  readonly domains: readonly string[]
}

/**
 * Loads rules as loadRules does, again and again: a text that the load before had is not parsed again, and a domain
 * whose files are the same is not compiled again. It holds what one load read and made, and no syntax trees.
 */
export class RuleMemory {
  /** The values of texts that were read. */
  #values = new Map<string, unknown>()
  /** Those of the last load without errors. */
  #domains: ReadonlyMap<string, CompiledDomain> = new Map()
  #options = ''

  /** Throws a RulesError with everything that is wrong. */
  load(inputs: readonly RuleInput[], options: CompileOptions = {}): RuleSet {
    if (this.#options !== JSON.stringify(options)) this.#domains = new Map()
    this.#options = JSON.stringify(options)
    const [before, known] = [this.#values, this.#domains]
    const compiled = new Map<string, CompiledDomain>()
    this.#values = new Map()
    const parse = (file: string, text: string): RuleDocument => {
      const document = before.has(text) ? again(file, text, before.get(text)) : parseRules(file, text)
      this.#values.set(text, document.value)
      return document
    }
    const rules = readAll(inputs, options, { parse, known, compiled })
    this.#domains = compiled
    return rules
  }

  /** Returns what a text comes to that was among the inputs of the last load, which succeeded. */
  figuresOf(text: string, options: CompileOptions = {}): RuleFigures {
    const value = this.#values.get(text) as RuleFile
    const { files, ruleCount } = this.#domains.get(value.domain) as CompiledDomain
    const limits = files.length === 1 ? ruleCount : compileRules([again('', text, value)], options).ruleCount
    return { limits, domains: [value.domain] }
  }
}

/** Makes a document of a value that a text had before. The text is parsed again only to find places in it. */
function again(file: string, text: string, value: unknown): RuleDocument {
  let parsed: RuleDocument | undefined
  const document = (): RuleDocument => {
    parsed ??= parseRules(file, text)
    return parsed
  }
  return { value, locate: (path, of) => document().locate(path, of), line: (path) => document().line(path) }
}
