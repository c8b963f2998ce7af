import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RuleFile } from '../core/rules/schema.ts'
import { processRenewals } from '../engine/renewals.ts'
import { createLimiter } from './create-limiter.ts'
import { rateLimit } from './rate-limit.ts'

beforeEach(() => {
  // What other tests of this process have not released.
  processRenewals.close()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  processRenewals.close()
  vi.useRealTimers()
})

const clock = { nowMs: () => 1_780_000_000_000 + performance.now() }
const two = { limit: 2, algorithm: 'concurrency', leaseTtl: '10s', clock } as const
const rules: RuleFile = {
  domain: 'd',
  descriptors: [
    { key: 'user', rate_limit: { requests_per_unit: 2, algorithm: 'concurrency', lease_ttl: '10s' } },
    { key: 'login', rate_limit: { unit: 'minute', requests_per_unit: 2 } },
  ],
}
const about = (key: string) => ({ domain: 'd', descriptors: [{ entries: [{ key, value: 'a' }] }] })

describe('a permit of the library', () => {
  it('holds its place until it is released, however long that takes', async () => {
    const limiter = rateLimit(two)
    const permit = limiter.acquire('k')
    for (let i = 0; i < 10; i++) {
      await vi.advanceTimersByTimeAsync(8_000)
      expect(limiter.peek('k').remaining).toBe(1)
    }
    expect([permit.release(), limiter.peek('k').remaining]).toEqual([true, 2])
    await vi.advanceTimersByTimeAsync(60_000)
    expect([vi.getTimerCount(), limiter.peek('k').remaining]).toEqual([0, 2])
  })

  it('does so for rules, together with rules that hold nothing', async () => {
    const limiter = createLimiter({ rules, clock })
    const [permit, login] = [limiter.acquire(about('user')), limiter.acquire(about('login'))]
    await vi.advanceTimersByTimeAsync(100_000)
    expect(limiter.check({ ...about('user'), cost: 0 }).verdicts[0].verdict.remaining).toBe(1)
    expect([permit.release(), login.allowed]).toEqual([true, true])
    expect(limiter.check({ ...about('user'), cost: 0 }).verdicts[0].verdict.remaining).toBe(2)
  })

  it('takes part in no renewal where it was refused', async () => {
    const limiter = rateLimit({ ...two, limit: 0 })
    expect(limiter.acquire('k').allowed).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })
})
