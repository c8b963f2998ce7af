import type { Decider } from '../engine/decider.ts'
import { FullDecider } from '../engine/full-decider.ts'
import type { LoadShedder } from '../engine/load-shedder.ts'
import type { Observer } from '../engine/observer.ts'
import { NO_PAYER, type Payer } from '../engine/payer.ts'
import type { Store } from '../engine/ports.ts'

/**
 * Makes the Decider of a gate that sheds, or has rules. Where the app names no ledger, what rules with a meter admit is
 * refused.
 */
export function fullGateDecider(
  store: Store,
  observer?: Observer,
  shedder?: LoadShedder,
  payer: Payer = NO_PAYER,
): Decider<Store> {
  return new FullDecider(store, observer, { shedder, keepsTurns: true, payer })
}
