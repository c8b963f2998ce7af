import { KeyedHash } from '../../dist/core/hash.js'
import { KeyEncoder } from '../../dist/core/key-encoder.js'
import { compileObjects } from '../../dist/core/rules/compile.js'
import { Planner } from '../../dist/engine/plan.js'
import { LeasedStore } from '../../dist/stores/leased/leased-store.js'
import { RedisStore } from '../../dist/stores/redis/redis-store.js'

/** Overload is to show as a longer wait, not as an answer by the rule's policy. */
export const TIMEOUT_MS = 10_000
const PARTITIONS = 32

/** Opens a store on a separate connection, and waits until it is connected. */
export async function openRedis(url) {
  let isConnected = () => {}
  const connected = new Promise((resolve) => {
    isConnected = resolve
  })
  const store = new RedisStore({ url, timeoutMs: TIMEOUT_MS, events: { connected: () => isConnected() } })
  await connected
  return store
}

/**
 * Opens what one node of the service has: slices and refusals in memory, before Redis. It waits until it hears. Where
 * nodes are `eager`, the first hit takes a slice, as if every caller came often: what slices promise shows when there
 * are some.
 */
export async function openNode(url, { isEager = false, decorate = (redis) => redis } = {}) {
  const redis = await openRedis(url)
  await new Promise((resolve) => {
    redis.listen({ noticed() {}, connected: (isConnected) => isConnected && resolve() })
  })
  return new LeasedStore(decorate(redis), isEager ? { minHits: 1 } : {})
}

/** Returns the charges of `count` callers on one rule, as a request makes them, with keys as in Redis. */
export function chargesOf(count, rateLimit, name = 'caller') {
  const rate_limit = { timeout_ms: TIMEOUT_MS, ...rateLimit }
  const rules = compileObjects([{ domain: 'api', descriptors: [{ key: name, rate_limit }] }])
  const planner = new Planner(new KeyEncoder(new KeyedHash(17, 42), PARTITIONS))
  return Array.from({ length: count }, (_, n) =>
    planner
      .plan(rules, { domain: 'api', descriptors: [{ entries: [{ key: name, value: `${n}` }] }] })
      .map(({ key, limit, cost, enforce, policy }) => ({ key, limit, cost, enforce, policy })),
  )
}
