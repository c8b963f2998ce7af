import type { Descriptor } from '../core/request.ts'
import type { RuleFile } from '../core/rules/schema.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { Caller } from './caller.ts'
import type { Routing } from './request-path.ts'

/** Where rules are, or they themselves. */
export type RulesGiven = string | RuleFile | readonly RuleFile[]

export interface RuleOptions<R> {
  /**
   * The rules: a file or a directory of them, which is watched; YAML text (with a line break in it); or objects. In a
   * bundle, `rules(…)` of `sluice/rules` with any of these.
   */
  readonly rules: RulesGiven | RulesPlace
  /** Which of the rules' domains. Default: the only one. */
  readonly domain?: string
  /** What a request is about. Default: requestDescriptors. */
  readonly descriptors?: (request: R, caller: Caller) => MaybePromise<readonly Descriptor[]>
  /**
   * What the app's router looks at in a path: rules about paths go by it. Default: as the framework's router says;
   * where none does, neither case nor a slash at the end matters.
   */
  readonly routing?: Partial<Routing>
  /** Called when watched rules have become invalid; the last good ones stay in force. */
  readonly onRulesRefused?: (error: Error) => void
}

/** Rules with the code for them, as `rules()` of `sluice/rules` returns them: what a bundler can follow. */
export interface RulesPlace {
  readonly place: RulesGiven
  /** What plans by them: a RulesCode. */
  readonly code: object
}

/** Returns what was given, with or without the code. */
export function sourceOf(rules: RulesGiven | RulesPlace): RulesGiven {
  return hasCode(rules) ? rules.place : rules
}

/** A rule file has no key of this name. */
export function hasCode(rules: RulesGiven | RulesPlace): rules is RulesPlace {
  return typeof rules === 'object' && 'code' in rules
}
