import { ALGORITHM_NAMES } from 'sluice/internal/core/algorithms/algorithms'
import { compileLimit } from 'sluice/internal/core/limit'
import { type CounterState, step } from 'sluice/internal/core/step'
import { expect, it } from 'vitest'
import { Counter } from './counter.ts'
import { DEFAULTS } from './settings.ts'
import { limitOf } from './simulate.ts'
import { PATTERNS, requestsOf, SPAN_MS } from './traffic.ts'

const BUCKETS = ['token_bucket', 'gcra', 'leaky_bucket']

it.each(ALGORITHM_NAMES)('a counter of %s decides as the library does', (algorithm) => {
  const { limit: max, windowMs, burst, atOnce } = DEFAULTS
  const limit = compileLimit({
    algorithm,
    limit: algorithm === 'concurrency' ? atOnce : max,
    ...(algorithm === 'concurrency' ? { leaseTtl: SPAN_MS } : { window: windowMs }),
    ...(BUCKETS.includes(algorithm) && { burst }),
  })
  expect(limit).toMatchObject(limitOf(algorithm, DEFAULTS))
  const counter = new Counter(limitOf(algorithm, DEFAULTS))
  let state: CounterState | undefined
  for (const { atMs } of requestsOf(PATTERNS.storm.traffic)) {
    const expected = step(state, limit, atMs, 1)
    state = expected.state
    const { allowed, remaining, retryAfterMs, delayMs } = counter.hit(atMs)
    expect({ atMs, allowed, remaining }).toEqual({
      atMs,
      allowed: expected.verdict.kind === 'allowed',
      remaining: expected.verdict.remaining,
    })
    if (expected.verdict.kind === 'refused') expect(retryAfterMs).toBe(expected.verdict.retryAfterMs)
    if (expected.verdict.kind === 'allowed') expect(delayMs).toBe(expected.verdict.delayMs)
  }
})

it('a permit that is given back can be taken again', () => {
  const counter = new Counter(limitOf('concurrency', { ...DEFAULTS, atOnce: 1 }))
  const taken = [counter.hit(0).allowed, counter.hit(1).allowed]
  counter.release(0)
  expect([...taken, counter.hit(2).allowed]).toEqual([true, false, true])
})
