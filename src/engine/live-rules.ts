import type { CompileOptions } from '../core/rules/compile.ts'
import { NO_RULES } from '../core/rules/compile.ts'
import { isSameInput, loadRules, type RuleInput } from '../core/rules/load.ts'
import { RulesError } from '../core/rules/problems.ts'
import type { RuleSet } from '../core/rules/rule-set.ts'
import { MergedSources } from './merged-sources.ts'
import type { MaybePromise } from './ports.ts'
import type { LoadedRules, RuleLoader, RuleSource } from './rule-source.ts'

export interface LiveRulesOptions extends CompileOptions {
  /** Loads what sources deliver while rules are in force. Default: loadRules, which stops everything else meanwhile. */
  readonly loader?: RuleLoader
}

/** Events of LiveRules: rules came into force, or were refused (reported once per reason). */
export interface LiveRulesEvents {
  loaded?(rules: RuleSet, from: RuleOrigin): void
  refused?(error: RulesError): void
}

/** What rules were made of: what sources delivered and, if the loader keeps them, the parts. */
export interface RuleOrigin extends Pick<LoadedRules, 'parts'> {
  readonly inputs: readonly RuleInput[]
}

/**
 * Holds the rules in force. New rules replace them in one step, and only when all of them are valid: a bad file leaves
 * the last good set in force. Code that has read `current` may keep using it.
 */
export class LiveRules {
  readonly #options: LiveRulesOptions
  readonly #events: LiveRulesEvents
  #sources: MergedSources | undefined
  #rules: RuleSet = NO_RULES
  #inputs: readonly RuleInput[] | undefined
  /** The last reason to refuse, by who was refused. Rules that come into force clear it. */
  readonly #lastRefusals = new Map<object, string>()
  #loads = 0
  #refusals = 0

  constructor(options: LiveRulesOptions = {}, events: LiveRulesEvents = {}) {
    this.#options = options
    this.#events = events
  }

  readonly current = (): RuleSet => this.#rules

  /** How often rules came into force, and how often they were refused. */
  get counts(): { readonly loads: number; readonly refusals: number } {
    return { loads: this.#loads, refusals: this.#refusals }
  }

  /** Puts rule files into force. Files that are what they were change nothing. It returns whether all is well. */
  apply(inputs: readonly RuleInput[]): boolean {
    if (this.#isInForce(inputs, this)) return true
    try {
      this.#adopt({ rules: loadRules(inputs, this.#options) }, inputs, [this])
      return true
    } catch (error) {
      if (!(error instanceof RulesError)) throw error
      this.refuse(error)
      return false
    }
  }

  /**
   * Starts sources, and keeps the rules up to date with all of them: what they deliver is one set, in the order of the
   * sources. It returns whether that is in force. MergedSources says what happens when one of them is wrong.
   */
  async follow(sources: readonly RuleSource[]): Promise<boolean> {
    this.#sources?.stop()
    this.#sources = new MergedSources(sources, {
      load: (inputs) => this.#load(inputs),
      isInForce: (inputs, by) => this.#isInForce(inputs, by),
      adopt: (loaded, inputs, by) => this.#adopt(loaded, inputs, by),
      refuse: (error, by) => this.#refuse(error, by),
    })
    return this.#sources.start()
  }

  /** Has every source read immediately. Returns whether everything they deliver is in force. */
  async readNow(): Promise<boolean> {
    return (await this.#sources?.readNow()) ?? true
  }

  /** Ends all sources, and the loader. The rules in force stay. */
  stop(): void {
    this.#sources?.stop()
    this.#options.loader?.close()
  }

  /** Counts rules that could not be read or compiled, and reports why unless the reason is the same as before. */
  refuse(error: RulesError): void {
    this.#refuse(error, this)
  }

  /** Loads the first rules synchronously, while there are no requests to stall. */
  #load(inputs: readonly RuleInput[]): MaybePromise<LoadedRules> {
    const { loader } = this.#options
    return loader === undefined || this.#loads === 0
      ? { rules: loadRules(inputs, this.#options) }
      : loader.load(inputs, this.#options)
  }

  #isInForce(inputs: readonly RuleInput[], by: object): boolean {
    return this.#inputs !== undefined && !this.#lastRefusals.has(by) && areSame(this.#inputs, inputs)
  }

  #adopt({ rules, parts }: LoadedRules, inputs: readonly RuleInput[], by: readonly object[]): void {
    this.#rules = rules
    this.#inputs = inputs
    for (const each of by) this.#lastRefusals.delete(each)
    this.#loads++
    this.#events.loaded?.(rules, { inputs, parts })
  }

  #refuse(error: RulesError, by: object): void {
    this.#refusals++
    if (error.message === this.#lastRefusals.get(by)) return
    this.#lastRefusals.set(by, error.message)
    this.#events.refused?.(error)
  }
}

function areSame(a: readonly RuleInput[], b: readonly RuleInput[]): boolean {
  return a.length === b.length && a.every((input, i) => isSameInput(input, b[i]))
}
