import { KeyedHash } from 'sluice/internal/core/hash'
import { describe, expect, it } from 'vitest'
import { CallerPeaks, type Peaks } from './caller-peaks.ts'
import { chooseLimit, percentileOf, rounded } from './choose-limit.ts'
import { PathPatterns } from './path-patterns.ts'
import { suggestTiers } from './suggested-tiers.ts'

const ALL = { tier: '', endpoint: '' }
const HOUR_MS = 3_600_000
const OPTIONS = { percentile: 99, headRoom: 1.5, spanMs: 24 * HOUR_MS }

const peaks = (minute: number, tenMinutes: number, hour: number): Peaks => ({
  requests: hour,
  minute,
  tenMinutes,
  hour,
})

describe('chooseLimit', () => {
  it('counts steady traffic by the minute', () => {
    const limit = chooseLimit([peaks(40, 390, 2_000)], OPTIONS)
    expect(limit).toMatchObject({ algorithm: 'sliding_window', unit: 'minute', requestsPerUnit: 60, burst: undefined })
  })

  it('gives bursts a bucket that refills with the average of the busiest hour, and holds the busiest minutes', () => {
    const once = chooseLimit([peaks(100, 100, 120)], OPTIONS)
    expect(once).toMatchObject({ algorithm: 'token_bucket', unit: 'minute', requestsPerUnit: 3, burst: 150 })
    const longer = chooseLimit([peaks(100, 500, 600)], OPTIONS)
    expect(longer).toMatchObject({ algorithm: 'token_bucket', requestsPerUnit: 15, burst: 600 })
  })

  it('counts rare requests by the hour', () => {
    expect(chooseLimit([peaks(2, 3, 8)], OPTIONS)).toMatchObject({
      algorithm: 'sliding_window',
      unit: 'hour',
      requestsPerUnit: 12,
    })
  })

  it('does not take a short log for a burst', () => {
    const limit = chooseLimit([peaks(100, 500, 500)], { ...OPTIONS, spanMs: 300_000 })
    expect(limit).toMatchObject({ algorithm: 'sliding_window', requestsPerUnit: 150 })
  })

  it('says nothing about hours where there was none', () => {
    expect(chooseLimit([peaks(2, 3, 3)], { ...OPTIONS, spanMs: 300_000 }).unit).toBe('minute')
  })

  it('leaves out the callers above the percentile', () => {
    const callers = Array.from({ length: 200 }, (_, i) =>
      i < 2 ? peaks(9_000, 90_000, 540_000) : peaks(40, 400, 2_400),
    )
    expect(chooseLimit(callers, OPTIONS)).toMatchObject({ requestsPerUnit: 60 })
    expect(chooseLimit(callers, { ...OPTIONS, percentile: 100 })).toMatchObject({ requestsPerUnit: 15_000 })
  })

  it('never proposes a limit of 0', () => {
    expect(chooseLimit([peaks(1, 1, 1)], { ...OPTIONS, headRoom: 1 }).requestsPerUnit).toBe(1)
    expect(rounded(0)).toBe(1)
    expect(percentileOf([], 99)).toBe(0)
  })

  it('rounds up to numbers that people write', () => {
    expect([1.2, 7, 10, 11, 41, 130, 999, 1_001, 8_100].map(rounded)).toEqual([
      2, 7, 10, 12, 50, 150, 1_000, 1_200, 10_000,
    ])
  })
})

describe('CallerPeaks', () => {
  it('measures the busiest minute and hour, also across their borders', () => {
    const all = new CallerPeaks(new KeyedHash(1, 2))
    const start = Date.UTC(2026, 10, 20, 9, 59, 30)
    // 30 requests in each half of a minute on both sides of a full hour.
    for (let i = 0; i < 60; i++) all.add(ALL, 'ada', start + i * 1_000)
    const [{ requests, callers }] = all.groups
    expect(requests).toBe(60)
    expect(callers).toHaveLength(1)
    expect(callers[0].minute).toBeGreaterThan(44)
    expect(callers[0].minute).toBeLessThanOrEqual(60)
    expect(callers[0].hour).toBeGreaterThan(59)
  })

  it('holds some callers whole when there are too many, so that percentiles stay', () => {
    const all = new CallerPeaks(new KeyedHash(1, 2), 1_000)
    const start = Date.UTC(2026, 10, 20)
    for (let round = 0; round < 4; round++) {
      for (let caller = 0; caller < 20_000; caller++) {
        if (round === 0 || caller % 10 === 0) all.add(ALL, `caller-${caller}`, start + round)
      }
    }
    const [{ requests, callers }] = all.groups
    expect(requests).toBe(26_000)
    expect(callers.length).toBeLessThanOrEqual(1_000)
    expect(callers.length).toBeGreaterThan(300)
    expect(callers.length / 20_000 / all.share).toBeGreaterThan(0.7)
    expect(new Set(callers.map((each) => each.requests))).toEqual(new Set([1, 4]))
    const busy = callers.filter((each) => each.requests === 4).length / callers.length
    expect(Math.abs(busy - 0.1)).toBeLessThan(0.05)
  })
})

describe('PathPatterns', () => {
  it.each([
    ['GET /users/42', 'GET /users/*'],
    ['GET /users/42/orders/7f3e9a10', 'GET /users/*/orders/*'],
    ['GET /v1/things/cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2', 'GET /v1/things/*'],
    ['GET /reset/eyJhbGciOiJIUzI1NiJ9.x', 'GET /reset/*'],
    ['GET /items', 'GET /items'],
    ['POST /v2/orders', 'POST /v2/orders'],
    ['GET /deadbeef-cafe', 'GET /deadbeef-cafe'],
    ['OPTIONS *', 'OPTIONS *'],
    ['GET /', 'GET /'],
  ])('takes %s for %s', (endpoint, pattern) => {
    expect(new PathPatterns().of(endpoint)).toBe(pattern)
  })
})

describe('suggestTiers', () => {
  const group = (endpoint: string, requests: number, callers: readonly Peaks[], tier = '') => ({
    name: { tier, endpoint },
    requests,
    callers,
  })
  const two = [peaks(40, 400, 2_400), peaks(40, 400, 2_400)]
  const few = [peaks(6, 60, 360), peaks(6, 60, 360)]
  const options = { ...OPTIONS, mostEndpoints: 2 }

  it('proposes limits for endpoints that have a share, more than one caller, and less than all requests', () => {
    const groups = [
      group('', 1_000, two),
      group('GET /nearly-all', 900, [peaks(39, 390, 2_300), peaks(39, 390, 2_300)]),
      group('GET /one', 500, few),
      group('GET /two', 400, few),
      group('GET /three', 300, few),
      group('GET /of-ada', 200, few.slice(1)),
      group('GET /rare', 9, few),
      group('GET /bell\u0007', 100, few),
    ]
    const [{ all, endpoints }] = suggestTiers(groups, options, 'user')
    expect(all).toMatchObject({ name: 'per-user', limit: { requestsPerUnit: 60 } })
    expect(endpoints.map(({ endpoint }) => endpoint)).toEqual(['GET /one', 'GET /two'])
  })

  it('refuses tiers that cannot be tiers', () => {
    const of = (...tiers: string[]) => tiers.map((tier) => group('', 10, two, tier))
    expect(() => suggestTiers(of('x'.repeat(65)), options, 'user')).toThrow('TIERS_INVALID: --entry tier: got "xxx')
    const many = of(...Array.from({ length: 51 }, (_, i) => `t${i}`))
    expect(() => suggestTiers(many, options, 'user')).toThrow('TIERS_INVALID: --entry tier: 51 different tiers')
  })
})
