import type { CompileOptions } from '../core/rules/compile.ts'
import { NO_RULES } from '../core/rules/compile.ts'
import { loadRules, type RuleText } from '../core/rules/load.ts'
import { RulesError } from '../core/rules/problems.ts'
import type { RuleSet } from '../core/rules/rule-set.ts'

/** What LiveRules tells: rules came into force, or were refused (told once for each different reason). */
export interface LiveRulesEvents {
  loaded?(rules: RuleSet): void
  refused?(error: RulesError): void
}

/**
 * LiveRules holds the rules in force. New ones replace them in one step, and only when all of them are right: a bad file
 * leaves the last good set as it is. Whoever took `current` keeps what it took.
 */
export class LiveRules {
  readonly #options: CompileOptions
  readonly #events: LiveRulesEvents
  #rules: RuleSet = NO_RULES
  #texts: readonly RuleText[] | undefined
  #lastRefusal: string | undefined
  #loads = 0
  #refusals = 0

  constructor(options: CompileOptions = {}, events: LiveRulesEvents = {}) {
    this.#options = options
    this.#events = events
  }

  readonly current = (): RuleSet => this.#rules

  /** How often rules came into force, and how often they were refused. */
  get counts(): { readonly loads: number; readonly refusals: number } {
    return { loads: this.#loads, refusals: this.#refusals }
  }

  /** apply puts rule files into force. Files that are what they were change nothing. It returns whether all is well. */
  apply(texts: readonly RuleText[]): boolean {
    if (this.#texts !== undefined && this.#lastRefusal === undefined && isSame(this.#texts, texts)) return true
    try {
      this.#rules = loadRules(texts, this.#options)
    } catch (error) {
      if (!(error instanceof RulesError)) throw error
      this.refuse(error)
      return false
    }
    this.#texts = texts
    this.#lastRefusal = undefined
    this.#loads++
    this.#events.loaded?.(this.#rules)
    return true
  }

  /** refuse counts rules that could not be read or compiled, and tells why unless it did so the last time. */
  refuse(error: RulesError): void {
    this.#refusals++
    if (error.message === this.#lastRefusal) return
    this.#lastRefusal = error.message
    this.#events.refused?.(error)
  }
}

function isSame(a: readonly RuleText[], b: readonly RuleText[]): boolean {
  return a.length === b.length && a.every(({ file, text }, i) => file === b[i].file && text === b[i].text)
}
