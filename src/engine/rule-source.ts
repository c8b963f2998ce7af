import type { CompileOptions } from '../core/rules/compile.ts'
import type { RuleInput } from '../core/rules/load.ts'
import type { RulePart } from '../core/rules/packed-rules.ts'
import type { RulesError } from '../core/rules/problems.ts'
import type { RuleSet } from '../core/rules/rule-set.ts'
import type { MaybePromise } from './ports.ts'

/**
 * A RuleSource is a place that rules come from: files, a table, an address. It delivers everything that it has, each time
 * that some of it changes; several sources are merged by LiveRules. Errors name the `file` of an input, and the line and
 * column of a text or the path within an object; so an input from a table might be called `rules table, row 17`.
 */
export interface RuleSource {
  /** What people call it: `/etc/sluice/rules`. */
  readonly name: string
  /** start reads the source, delivers what it says, and follows it from then on. It returns what `apply` returned. */
  start(receiver: RuleReceiver): Promise<boolean>
  /** readNow reads and delivers at once, changed or not. It returns whether what was read is in force. */
  readNow(): Promise<boolean>
  /** stop ends it. What is being read is not delivered any more. */
  stop(): void
}

/** A RuleReceiver is what a RuleSource reports to. */
export interface RuleReceiver {
  /**
   * apply takes all rules of the source, in order. It returns whether they are in force; if not, it has told why, and the
   * source goes on as if they were: the next delivery replaces them.
   */
  apply(inputs: readonly RuleInput[]): MaybePromise<boolean>
  /** refuse is told when the source cannot be read. What it delivered last stays in force. */
  refuse(error: RulesError): void
}

/** A RuleLoader turns what sources deliver into rules. One load at a time. */
export interface RuleLoader {
  /** load throws a RulesError with everything that is wrong, or rejects with it. */
  load(inputs: readonly RuleInput[], options: CompileOptions): MaybePromise<LoadedRules>
  /** close ends it. What is being loaded is refused. */
  close(): void
}

/** LoadedRules are rules, and perhaps the parts that they were made of, for other processes to make the same of them. */
export interface LoadedRules {
  readonly rules: RuleSet
  readonly parts?: readonly RulePart[] | undefined
}
