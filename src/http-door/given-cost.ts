import { got, SluiceError } from '../core/errors.ts'
import { MAX_COST, MAX_COUNT } from '../core/limit.ts'
import { andThen } from '../engine/maybe.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { Caller } from './caller.ts'
import { guarded, type TellError } from './guarded.ts'

/** Cost says how much a request takes where its limit does not say. */
export type Cost<R> = number | ((request: R, caller: Caller) => MaybePromise<number>)

/** givenCost returns what an app says that a request costs; 1 where it says nothing that makes sense. */
export function givenCost<R>(cost: Cost<R>, request: R, caller: Caller, tell: TellError): MaybePromise<number> {
  if (typeof cost === 'number') return checkedCost(cost)
  return guarded(
    () => andThen(cost(request, caller), sensibleCost),
    (error) => {
      tell(error)
      return 1
    },
  )
}

/**
 * sensibleCost takes more than any limit holds for just that, and a fraction for the whole number above it. What
 * is below 0 would give budget away.
 */
export function sensibleCost(cost: number): number {
  if (typeof cost !== 'number' || !(cost >= 0)) throw new SluiceError('COST_INVALID', 'cost', got(cost))
  return Math.min(Math.ceil(cost), MAX_COST)
}

export function checkedCost(cost: number): number {
  if (!Number.isInteger(cost) || Math.abs(cost) > MAX_COUNT) throw new SluiceError('COST_INVALID', 'cost', got(cost))
  return cost
}
