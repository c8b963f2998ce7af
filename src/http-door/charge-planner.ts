import type { PlannedCharge } from '../engine/charge.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { Caller } from './caller.ts'

/** A ResetCaller is a caller to forget. `key` is what a function of the app's would have said. */
export interface ResetCaller extends Caller {
  readonly key?: string
}

/** A ChargePlanner says what the requests of a caller who is known are charged to. */
export interface ChargePlanner<R> {
  plan(request: R, caller: Caller): MaybePromise<readonly PlannedCharge[]>
  /** planReset says which counters a caller has. */
  planReset(caller: ResetCaller): readonly PlannedCharge[]
  /** scopeOf says whose budget a charge takes, as it may be shown: no secret, and nothing long. */
  scopeOf(charge: PlannedCharge): string | undefined
  close(): void
}
