import type { CompileOptions } from '../core/rules/compile.ts'
import type { RuleInput } from '../core/rules/load.ts'
import type { RulePart } from '../core/rules/packed-rules.ts'
import type { RulesError } from '../core/rules/problems.ts'
import type { RuleSet } from '../core/rules/rule-set.ts'
import type { MaybePromise } from './ports.ts'

/**
 * A place that rules come from: files, a table, an address. It delivers everything that it has, each time that some of
 * it changes; several sources are merged by LiveRules. Errors name the `file` of an input, and the line and column of a
 * text or the path within an object; so an input from a table might be called `rules table, row 17`.
 */
export interface RuleSource {
  /** What people call it: `/etc/sluice/rules`. */
  readonly name: string
  /** Reads the source, delivers what it says, and follows it from then on. It returns what `apply` returned. */
  start(receiver: RuleReceiver): Promise<boolean>
  /** Reads and delivers immediately, changed or not. Returns whether what was read is in force. */
  readNow(): Promise<boolean>
  /** Ends it. What is being read is not delivered any more. */
  stop(): void
}

/** What a RuleSource reports to. */
export interface RuleReceiver {
  /**
   * Takes all rules of the source, in order. Returns whether they are in force; if not, it has reported why, and the
   * source continues as if they were: the next delivery replaces them.
   */
  apply(inputs: readonly RuleInput[]): MaybePromise<boolean>
  /** Called when the source cannot be read. Its last delivery stays in force. */
  refuse(error: RulesError): void
}

/** Turns what sources deliver into rules. One load at a time. */
export interface RuleLoader {
  /** Throws a RulesError with everything that is wrong, or rejects with it. */
  load(inputs: readonly RuleInput[], options: CompileOptions): MaybePromise<LoadedRules>
  /** Ends it. What is being loaded is refused. */
  close(): void
}

/** Rules, and perhaps the parts that they were made of, for other processes to make the same of them. */
export interface LoadedRules {
  readonly rules: RuleSet
  readonly parts?: readonly RulePart[] | undefined
}
