import type { Decider } from '../engine/decider.ts'
import { FullDecider } from '../engine/full-decider.ts'
import type { LoadShedder } from '../engine/load-shedder.ts'
import type { Observer } from '../engine/observer.ts'
import { NO_PAYER } from '../engine/payer.ts'
import type { Store } from '../engine/ports.ts'

/**
 * Makes the Decider of a gate that sheds, or has rules: an app has no ledger, so what rules with a meter admit is
 * refused.
 */
export function fullGateDecider(store: Store, observer?: Observer, shedder?: LoadShedder): Decider<Store> {
  return new FullDecider(store, observer, { shedder, keepsTurns: true, payer: NO_PAYER })
}
