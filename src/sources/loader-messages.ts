import type { ErrorCode } from '../core/errors.ts'
import type { CompileOptions } from '../core/rules/compile.ts'
import type { RuleInput, RuleText } from '../core/rules/load.ts'
import type { RulePart } from '../core/rules/packed-rules.ts'
import type { RuleFigures } from '../core/rules/rule-memory.ts'

/** What a ThreadLoader sends its thread. Parts are sent one by one, on request. */
export type ToLoader =
  | { readonly type: 'load'; readonly inputs: readonly RuleInput[]; readonly options: CompileOptions }
  | { readonly type: 'next' }
  /** Has it compile a text together with others. Nothing is sent but what the text comes to. */
  | {
      readonly type: 'check'
      readonly own: RuleText
      readonly others: readonly RuleInput[]
      readonly options: CompileOptions
    }

/** What the thread answers. */
export type FromLoader =
  /** It runs and can load. */
  | { readonly type: 'ready' }
  | { readonly type: 'part'; readonly part: RulePart }
  | { readonly type: 'checked'; readonly figures: RuleFigures }
  | { readonly type: 'refused'; readonly errors: readonly PlainError[]; readonly omitted: number }
  /** It met a fault of ours. */
  | { readonly type: 'fault'; readonly reason: string }

/** A SluiceError in a form that can be sent. */
export interface PlainError {
  readonly code: ErrorCode
  readonly where: string
  readonly detail: string
}
