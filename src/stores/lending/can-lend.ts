import type { Lender, LendingStore, Store } from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'

/** A MayLend store has the methods of a Lender, and says whether they do anything. */
interface MayLend {
  readonly canLend: boolean
}

/** Returns whether a store lends slices of its counters. A leased store does when its parent does. */
export function canLend(store: Store & Partial<Lender & MayLend>): store is LendingStore {
  return typeof store.exchange === 'function' && store.canLend !== false
}

/** Returns the store as a lender, or NO_LENDER where it cannot lend. */
export function lenderOf(store: Store): Lender {
  return canLend(store) ? store : NO_LENDER
}

/** Stands in for a lender where there is none. It lends nothing, and no notice ever arrives. */
export const NO_LENDER: Lender = {
  exchange() {
    throw new StoreFault('unavailable', 'store', 'the store cannot lend')
  },
  notify() {},
  listen(listener) {
    listener.connected(false)
    return () => {}
  },
}
