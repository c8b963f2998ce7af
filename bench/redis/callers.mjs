import { createHash } from 'node:crypto'
import { KeyedHash } from '../../dist/core/hash.js'
import { KeyEncoder } from '../../dist/core/key-encoder.js'
import { compileObjects } from '../../dist/core/rules/compile.js'
import { Planner } from '../../dist/engine/plan.js'

const PARTITIONS = 32

/** Every decision is allowed, so every decision writes: a refusal would be cheaper. */
export const LIMIT = 1_000_000
/** A day: windows give nothing back while a benchmark runs, so that what was counted can be added up. */
export const WINDOW_MS = 86_400_000
const LOG_LIMIT = 10_000

/** The n-th caller's: 32 characters, as such keys look. */
export const apiKey = (n) => `sk_live_${createHash('sha1').update(`${n}`).digest('hex').slice(0, 24)}`

/**
 * Returns the charges of `count` callers on one rule for each API key, as a request makes them, with keys as a shared
 * store has them. A log keeps every hit, so its window is a second: it holds about ten hits when measured.
 */
export function chargesOf(count, { algorithm = 'sliding_window', secret = true, requests = LIMIT } = {}) {
  const budget =
    algorithm === 'sliding_log'
      ? { unit: 'second', requests_per_unit: LOG_LIMIT }
      : { unit: 'day', requests_per_unit: requests }
  const limit = { algorithm, ...budget }
  const rules = compileObjects([{ domain: 'api', descriptors: [{ key: 'api_key', secret, rate_limit: limit }] }])
  const planner = new Planner(new KeyEncoder(new KeyedHash(17, 42), PARTITIONS))
  return Array.from({ length: count }, (_, n) =>
    planner.plan(rules, { domain: 'api', descriptors: [{ entries: [{ key: 'api_key', value: apiKey(n) }] }] }),
  )
}
