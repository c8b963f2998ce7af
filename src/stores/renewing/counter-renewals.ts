import { storedKey } from '../../core/keys.ts'
import type { Limit } from '../../core/limit.ts'
import { type HeldPermits, RENEWALS, type Renewal } from '../../engine/ports.ts'

/** What one of the permits in a list holds of a counter. */
export interface WantedRenewal {
  readonly id: number | string
  /** How many places are taken again where their time is over; 0: none. The most that one of the askers held. */
  places: number
  /** Of them, how many the last asker held. */
  asked: number
  /** The positions in the list that ask for it. */
  readonly askers: number[]
}

/** All renewals of one counter: it is gone through once for all of them. */
export interface CounterRenewals {
  readonly key: string
  readonly limit: Limit
  readonly wanted: Map<number | string, WantedRenewal>
}

/** Sorts what is to be renewed by counter, by the name under which the counter is stored. */
export function renewalsByCounter(permits: readonly HeldPermits[]): ReadonlyMap<string, CounterRenewals> {
  const counters = new Map<string, CounterRenewals>()
  permits.forEach(({ id, held }, asker) => {
    for (const { key, limit, places = 0 } of held) {
      const stored = storedKey(key, limit)
      const counter = counters.get(stored) ?? { key, limit, wanted: new Map<number | string, WantedRenewal>() }
      counters.set(stored, counter)
      const known = counter.wanted.get(id)
      if (known === undefined) counter.wanted.set(id, { id, places, asked: places, askers: [asker] })
      else ask(known, places, asker)
    }
  })
  return counters
}

/**
 * Adds up what a group holds that names a counter twice. A list that names permits twice asks for no more than once.
 */
function ask(known: WantedRenewal, places: number, asker: number): void {
  if (known.askers.at(-1) === asker) known.asked += places
  else {
    known.askers.push(asker)
    known.asked = places
  }
  known.places = Math.max(known.places, known.asked)
}

/** What became of each of the permits in a list: the worst of what became of them in their counters. */
export class RenewalResults {
  readonly list: Renewal[]

  constructor(count: number) {
    this.list = new Array<Renewal>(count).fill('held')
  }

  set({ askers }: WantedRenewal, renewal: Renewal): void {
    for (const at of askers) {
      if (RENEWALS.indexOf(renewal) > RENEWALS.indexOf(this.list[at])) this.list[at] = renewal
    }
  }
}
