import { describe, expect, it } from 'vitest'
import { createFetch } from '../../client/src/index.ts'
import { rateLimitFields } from '../../src/core/http/fields.ts'
import { createLimiter } from '../../src/library/create-limiter.ts'
import { EventClock } from './event-clock.suite.ts'

// Our limiter and its fields, 20 ms away from clients that all call at once. What the bench measures with a service and real time
// is exact here, and takes a second.

const CALLS = 2_000
const ALGORITHMS = ['sliding_window', 'fixed_window', 'token_bucket', 'gcra'] as const
const REQUEST = { domain: 'api', descriptors: [{ entries: [{ key: 'caller', value: 'alice' }] }] }

/** A server that admits 200 calls a second. */
function serverOf(clock: EventClock, algorithm: (typeof ALGORITHMS)[number]) {
  const rate_limit = { unit: 'second', requests_per_unit: 200, algorithm } as const
  const limiter = createLimiter({
    rules: { domain: 'api', descriptors: [{ key: 'caller', rate_limit }] },
    clock: { nowMs: () => Date.now() },
  })
  const refusedMs: number[] = []
  let asked = 0
  const fetch = async (): Promise<Response> => {
    await clock.wait(10)
    asked++
    const decision = limiter.check(REQUEST)
    if (!decision.allowed) refusedMs.push(clock.nowMs)
    const headers = rateLimitFields(decision, Date.now()).map(([name, value]): [string, string] => [name, value])
    await clock.wait(10)
    return new Response(null, { status: decision.allowed ? 200 : 429, headers })
  }
  return { fetch, refusedMs, asked: () => asked }
}

/** Makes calls at once, and returns when the last of them is answered. */
async function endOf(clock: EventClock, call: () => Promise<Response>, calls: number): Promise<number> {
  await Promise.all(Array.from({ length: calls }, call))
  return clock.nowMs
}

const url = 'https://api.example/'

describe.each(ALGORITHMS)('2,000 calls against 200 a second by %s', (algorithm) => {
  it('end without a refusal after the first second', async () => {
    const clock = new EventClock()
    const { fetch, refusedMs, asked } = serverOf(clock, algorithm)
    const paced = createFetch({ fetch })
    const endMs = await clock.until(endOf(clock, () => paced(url), CALLS))
    expect(refusedMs.filter((atMs) => atMs > 1_000)).toEqual([])
    expect(asked()).toBeLessThan(CALLS + 20)
    // A server with nothing else to do takes 9 to 10 seconds for them.
    expect(endMs).toBeLessThan(13_000)
  })

  it('end sooner than by plain retrying: after 1 s, 2 s, 4 s and so on', async () => {
    const clock = new EventClock()
    const ours = serverOf(clock, algorithm)
    const paced = createFetch({ fetch: ours.fetch })
    const plain = serverOf(clock, algorithm)
    const plainly = async (): Promise<Response> => {
      for (let waitMs = 1_000; ; waitMs *= 2) {
        const response = await plain.fetch()
        if (response.status === 200) return response
        await clock.wait(waitMs)
      }
    }
    const ends = [endOf(clock, () => paced(url), CALLS), endOf(clock, plainly, CALLS)]
    const [oursMs, plainMs] = await clock.until(Promise.all(ends))
    expect(oursMs).toBeLessThan(plainMs)
    expect(plain.refusedMs.length).toBeGreaterThan(100 * (ours.refusedMs.length + 1))
  })

  it('of two processes end at about the same time, and hardly refused', async () => {
    const clock = new EventClock()
    const { fetch, refusedMs } = serverOf(clock, algorithm)
    const both = [createFetch({ fetch }), createFetch({ fetch })]
    const ends = both.map((paced) => endOf(clock, () => paced(url), CALLS / 2))
    const [one, two] = await clock.until(Promise.all(ends))
    expect(Math.min(one, two) / Math.max(one, two)).toBeGreaterThan(0.9)
    expect(refusedMs.length).toBeLessThan(CALLS / 50)
  })
})
