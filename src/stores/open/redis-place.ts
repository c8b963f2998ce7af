import type { RedisPlace, StoreOptions, StorePlace } from './store-options.ts'

/** Returns a place that comes with its code, and undefined for one without. No client has code of ours on it. */
export function placeOf(place: StoreOptions['redis'] | StorePlace): RedisPlace | StorePlace | undefined {
  return typeof place === 'object' && 'code' in place && 'place' in place ? place : undefined
}
