import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { Ratelimit, type RatelimitConfig } from './index.ts'

/** 2023-11-14T22:14:00Z: the beginning of a minute. */
const START_MS = 1_700_000_040_000

function inMemory(config: Omit<RatelimitConfig, 'clock'>) {
  const clock = { atMs: START_MS, nowMs: (): number => clock.atMs }
  return { clock, ratelimit: new Ratelimit({ ...config, clock }) }
}

const successes = async (ratelimit: Ratelimit, times: number, rate = 1): Promise<boolean[]> => {
  const all: boolean[] = []
  for (let i = 0; i < times; i++) all.push((await ratelimit.limit('api', { rate })).success)
  return all
}

describe('sluice/compat/upstash-ratelimit in memory', () => {
  it('has a fixed window whose end is the reset', async () => {
    const { clock, ratelimit } = inMemory({ limiter: Ratelimit.fixedWindow(2, '10 s') })
    clock.atMs += 4_000
    const { pending, ...first } = await ratelimit.limit('api')
    expect(first).toEqual({ success: true, limit: 2, remaining: 1, reset: START_MS + 10_000 })
    await expect(pending).resolves.toBeUndefined()
    expect(await successes(ratelimit, 2)).toEqual([true, false])
    clock.atMs = START_MS + 10_000
    expect(await successes(ratelimit, 3)).toEqual([true, true, false])
  })

  it('has a sliding window', async () => {
    const { clock, ratelimit } = inMemory({ limiter: Ratelimit.slidingWindow(10, '10s') })
    expect(await successes(ratelimit, 11)).toEqual([...Array(10).fill(true), false])
    clock.atMs += 15_000
    expect((await ratelimit.getRemaining('api')).remaining).toBe(6)
  })

  it('has a token bucket, of which the limit is what it holds', async () => {
    const { clock, ratelimit } = inMemory({ limiter: Ratelimit.tokenBucket(5, '10s', 8) })
    expect(await successes(ratelimit, 9)).toEqual([...Array(8).fill(true), false])
    expect((await ratelimit.limit('api')).reset).toBe(START_MS + 2_000)
    clock.atMs += 2_000
    const next = { success: true, limit: 8, remaining: 0, reset: START_MS + 18_000 }
    expect(await ratelimit.limit('api')).toMatchObject(next)
  })

  it('has a window that is leased', async () => {
    const { ratelimit } = inMemory({ limiter: Ratelimit.cachedFixedWindow(2, '1 d') })
    expect(await successes(ratelimit, 3)).toEqual([true, true, false])
  })

  it('takes a rate, gives back what is below 0, and charges nothing that is refused', async () => {
    const { ratelimit } = inMemory({ limiter: Ratelimit.fixedWindow(10, '1 m') })
    expect(await successes(ratelimit, 4, 4)).toEqual([true, true, false, false])
    expect((await ratelimit.limit('api', { rate: 2 })).remaining).toBe(0)
    expect((await ratelimit.limit('api', { rate: -3 })).remaining).toBe(3)
  })

  it('looks without charging, at callers that it has never seen too', async () => {
    const { ratelimit } = inMemory({ limiter: Ratelimit.slidingWindow(3, '1 m') })
    expect(await ratelimit.getRemaining('api')).toEqual({ remaining: 3, reset: START_MS + 60_000, limit: 3 })
    await ratelimit.limit('api')
    expect((await ratelimit.getRemaining('api')).remaining).toBe(2)
  })

  it('gives a caller the whole budget again', async () => {
    const { ratelimit } = inMemory({ limiter: Ratelimit.fixedWindow(1, '1 m') })
    await ratelimit.limit('api')
    await ratelimit.resetUsedTokens('api')
    expect(await successes(ratelimit, 2)).toEqual([true, false])
  })

  it('waits until a request may pass, and no longer than its timeout', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    vi.setSystemTime(START_MS)
    const ratelimit = new Ratelimit({ limiter: Ratelimit.fixedWindow(1, '10 s') })
    await ratelimit.limit('api')
    const short = ratelimit.blockUntilReady('api', 1_000)
    const long = ratelimit.blockUntilReady('api', 60_000)
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await short).success).toBe(false)
    await vi.advanceTimersByTimeAsync(9_000)
    expect((await long).success).toBe(true)
    expect(Date.now()).toBe(START_MS + 10_000)
  })

  it('may be taken apart, as examples do', async () => {
    const { limit } = inMemory({ limiter: Ratelimit.fixedWindow(1, '1 m') }).ratelimit
    expect((await limit('api')).success).toBe(true)
  })

  it.each<[string, object, string]>([
    ['a misspelled option', { prefx: 'a' }, 'OPTION_UNKNOWN: prefx: unknown option, did you mean "prefix"?'],
    ['deny lists, which there are not', { enableProtection: true }, 'OPTION_UNKNOWN: enableProtection: not supported'],
    ['limits that change in Redis', { dynamicLimits: true }, 'OPTION_UNKNOWN: dynamicLimits: not supported'],
    [
      'an algorithm of another module',
      { limiter: () => ({}) },
      'GATE_OPTIONS_INVALID: limiter: not made by Ratelimit.',
    ],
    ['a client of Redis over HTTP', { redis: { evalsha() {} } }, 'REDIS_CLIENT_INVALID: redis'],
    ['an option of ours', { window: '1m' }, 'OPTION_UNKNOWN: window: an option of sluice'],
  ])('refuses %s', (_, config, message) => {
    const limiter = Ratelimit.fixedWindow(1, '1 m')
    expect(() => new Ratelimit({ limiter, ...config } as never)).toThrow(message)
  })

  it.each<[string, () => unknown, string]>([
    ['a window without a unit', () => Ratelimit.fixedWindow(1, '10' as never), 'DURATION_INVALID: fixedWindow.window'],
    [
      'tokens that are no number',
      () => Ratelimit.slidingWindow(Number.NaN, '1 s'),
      'LIMIT_INVALID: slidingWindow.limit',
    ],
  ])('refuses %s', (_, make, message) => {
    expect(make).toThrow(message)
  })

  it('refuses callers and rates that make no sense', async () => {
    const { ratelimit } = inMemory({ limiter: Ratelimit.fixedWindow(1, '1 m') })
    await expect(ratelimit.limit('')).rejects.toThrow('KEY_INVALID: identifier')
    await expect(ratelimit.limit('a', { rate: 0.5 })).rejects.toThrow('COST_INVALID: rate')
    await expect(ratelimit.blockUntilReady('a', 0)).rejects.toThrow('GATE_OPTIONS_INVALID: timeout')
  })

  it('says that analytics has no effect', () => {
    const received: string[] = []
    const limiter = Ratelimit.fixedWindow(1, '1 m')
    new Ratelimit({ limiter, analytics: true, log: (line) => void received.push(line) })
    expect(received).toEqual([expect.stringContaining('analytics has no effect')])
  })
})

describe('sluice/compat/upstash-ratelimit on Redis', () => {
  let url: string
  beforeAll(async () => {
    url = (await sharedRedis()).url
  })
  const opened = (config: RatelimitConfig): Ratelimit => {
    const ratelimit = new Ratelimit({ redis: url, timeout: 60_000, log: () => {}, ...config })
    onTestFinished(() => ratelimit.close())
    return ratelimit
  }

  it.each([
    ['fixedWindow', Ratelimit.fixedWindow(3, '1 d')],
    ['slidingWindow', Ratelimit.slidingWindow(3, '1 d')],
    ['tokenBucket', Ratelimit.tokenBucket(3, '1 d', 3)],
    ['cachedFixedWindow', Ratelimit.cachedFixedWindow(3, '1 d')],
  ])('shares a budget between limiters of one prefix, and with no other (%s)', async (_, limiter) => {
    const prefix = randomUUID()
    const [one, two, other] = [
      opened({ limiter, prefix }),
      opened({ limiter, prefix }),
      opened({ limiter, prefix: `x${prefix}` }),
    ]
    const answers = [await one.limit('a'), await two.limit('a'), await one.limit('a'), await two.limit('a')]
    expect(answers.map(({ success, remaining }) => [success, remaining])).toEqual([
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
    ])
    expect((await other.limit('a')).success).toBe(true)
    await one.resetUsedTokens('a')
    expect((await two.limit('a')).success).toBe(true)
  })

  it.each([
    ['open', { success: true, reason: 'timeout' }],
    ['closed', { success: false, reason: 'timeout' }],
    ['local', { success: true, remaining: 0 }],
  ] as const)('answers without Redis as onStoreFailure says: %s', async (onStoreFailure, expected) => {
    const limiter = Ratelimit.fixedWindow(1, '1 d')
    const ratelimit = opened({ limiter, onStoreFailure, redis: 'redis://127.0.0.1:1' })
    expect(await ratelimit.limit('a')).toMatchObject(expected)
    const { success } = await ratelimit.limit('a')
    expect(success).toBe(onStoreFailure === 'open')
  })
})
