import type { Decision } from '../core/combine.ts'
import type { CheckRequest } from '../core/request.ts'
import type { Held } from '../engine/limiter.ts'
import type { Lease, MaybePromise } from '../engine/ports.ts'

/** What a door needs of the engine to check requests. */
export interface Checker {
  check(request: CheckRequest): MaybePromise<Decision>
}

/** What a door needs of the engine to hand out places as well. */
export interface LimiterPort extends Checker {
  acquire(request: CheckRequest): MaybePromise<Held>
  release(lease: Lease): MaybePromise<void>
}
