import { got, SluiceError } from '../core/errors.ts'
import { MAX_COUNT, TOO_MUCH } from '../core/limit.ts'
import { andThen } from '../engine/maybe.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { Caller } from './caller.ts'
import { guarded, type ReportError } from './guarded.ts'

/** Says how much a request takes where its limit does not say. */
export type Cost<R> = number | ((request: R, caller: Caller) => MaybePromise<number>)

/** Returns what an app says that a request costs; 1 where it says nothing that makes sense. */
export function givenCost<R>(cost: Cost<R>, request: R, caller: Caller, report: ReportError): MaybePromise<number> {
  if (typeof cost === 'number') return checkedCost(cost)
  return guarded(
    () => andThen(cost(request, caller), sensibleCost),
    (error) => {
      report(error)
      return 1
    },
  )
}

/**
 * Takes more than any limit holds for just that, and a fraction for the whole number above it. What is below 0 would
 * give budget away.
 */
export function sensibleCost(cost: number): number {
  if (typeof cost !== 'number' || !(cost >= 0)) throw new SluiceError('COST_INVALID', 'cost', got(cost))
  const whole = Math.ceil(cost)
  return whole > MAX_COUNT ? TOO_MUCH : whole
}

export function checkedCost(cost: number): number {
  if (!Number.isInteger(cost) || Math.abs(cost) > MAX_COUNT) throw new SluiceError('COST_INVALID', 'cost', got(cost))
  return cost
}
