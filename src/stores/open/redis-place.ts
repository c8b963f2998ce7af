import type { RedisPlace, StoreOptions } from './store-options.ts'

/** Returns a Redis that comes with its code, and undefined for one without. No client has code of ours on it. */
export function placeOf(redis: StoreOptions['redis']): RedisPlace | undefined {
  return typeof redis === 'object' && 'code' in redis && 'place' in redis ? redis : undefined
}
