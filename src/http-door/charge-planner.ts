import type { KeyEncoder } from '../core/key-encoder.ts'
import type { PlannedCharge } from '../engine/charge.ts'
import type { Decider } from '../engine/decider.ts'
import type { LoadShedder } from '../engine/load-shedder.ts'
import type { Observer } from '../engine/observer.ts'
import type { Payer } from '../engine/payer.ts'
import type { MaybePromise, Store } from '../engine/ports.ts'
import type { Caller } from './caller.ts'
import type { Cost } from './given-cost.ts'
import type { ReportError } from './guarded.ts'
import type { RequestReader } from './request-reader.ts'
import type { RuleOptions } from './rule-options.ts'

/** A caller to forget. `key` is what a function of the app's would have said. */
export interface ResetCaller extends Caller {
  readonly key?: string
}

/** A ChargePlanner says what the requests of a caller who is known are charged to. */
export interface ChargePlanner<R> {
  /**
   * Returns the charges of a request; undefined where they cannot be determined. Errors of an app's functions never
   * make it throw.
   */
  plan(request: R, caller: Caller): MaybePromise<readonly PlannedCharge[] | undefined>
  /** Whether API keys have budgets. */
  readonly countsKeys: boolean
  /** Whether addresses have budgets, or all callers one: that limits callers that invent a key for each request. */
  readonly isNet: boolean
  /** Returns which counters a caller has. */
  planReset(caller: ResetCaller): readonly PlannedCharge[]
  /** Returns whose budget a charge takes, as it may be shown: no secret, and nothing long. */
  scopeOf(charge: PlannedCharge): string | undefined
  close(): void
}

/** Returns the first charge of each counter: a request of which a path has several readings is one request. */
export function withoutRepeats(charges: readonly PlannedCharge[]): readonly PlannedCharge[] {
  const keys = new Set<string>()
  return charges.filter(({ key }) => !keys.has(key) && keys.add(key))
}

/** The code that plans by rules: it is loaded when a middleware has some. */
export interface RulesCode {
  readonly planBy: <R>(
    options: RuleOptions<R>,
    reader: RequestReader<R>,
    cost: Cost<R>,
    keys: KeyEncoder,
    report: ReportError,
  ) => ChargePlanner<R>
  readonly newDecider: NewDecider
}

/** Makes the Decider of a gate. */
export type NewDecider = (store: Store, observer?: Observer, shedder?: LoadShedder, payer?: Payer) => Decider<Store>
