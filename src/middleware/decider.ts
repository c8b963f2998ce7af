import type { Decision } from '../core/combine.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { Caller } from './caller.ts'

/** An Answer is what was decided about a request, and how to undo it. */
export interface Answer {
  readonly decision: Decision
  /** Whose budget it was, as it may be shown. */
  readonly scope: string | undefined
  /** refund gives back what was charged. */
  readonly refund: (() => MaybePromise<unknown>) | undefined
  /** release gives back the places of `concurrency` limits. */
  readonly release: (() => MaybePromise<unknown>) | undefined
}

/** A ResetCaller is a caller to forget. `key` is what a function of the app's would have said. */
export interface ResetCaller extends Caller {
  readonly key?: string
}

/** A Decider decides about requests whose caller is known. */
export interface Decider<R> {
  decide(request: R, caller: Caller): MaybePromise<Answer>
  /** reset gives a caller the whole budget again. */
  reset(caller: ResetCaller): MaybePromise<unknown>
  close(): MaybePromise<void>
}
