import { describe, expect, it } from 'vitest'
import type { Algorithm } from '../core/limit.ts'
import { type RateLimitOptions, rateLimit } from './rate-limit.ts'

/** Returns a limiter on a clock that the test moves. */
function fixture(options: RateLimitOptions) {
  const clock = { atMs: 1_780_000_020_000, nowMs: (): number => clock.atMs }
  return { clock, limiter: rateLimit({ clock, ...options }) }
}

const KEY_RULE = 'A key must be a non-empty string of at most 65536 characters.'
const COST_RULE = 'A cost must be a whole number from -4294967295 to 4294967295.'

describe('rateLimit', () => {
  it('limits in one line', () => {
    const verdict = rateLimit({ limit: 100, window: '1m' }).check('user:42')
    expect(verdict).toMatchObject({ kind: 'allowed', allowed: true, limit: 100, remaining: 99, delayMs: 0 })
    expect(verdict.resetAfterMs).toBeGreaterThan(0)
    expect(verdict.resetAfterMs).toBeLessThanOrEqual(60_000)
  })

  it.each([1, 2, 10])('admits %i in any window where that is the limit, at its edges too', (limit) => {
    const { clock, limiter } = fixture({ limit, window: '1m' })
    clock.atMs = 1_780_000_020_000 + 59_999
    const times = [0, 1, 100, 30_000, 59_999].map((afterMs) => {
      clock.atMs = 1_780_000_020_000 + 59_999 + afterMs
      return Array.from({ length: limit + 1 }, () => limiter.check('a').allowed).filter(Boolean).length
    })
    expect(times).toEqual([limit, 0, 0, 0, 0])
    clock.atMs += 1
    expect(limiter.check('a').allowed).toBe(true)
  })

  it('keeps the small state where the limit is above 10, or an algorithm is given', () => {
    const algorithms = [
      rateLimit({ limit: 10, window: '1m' }),
      rateLimit({ limit: 11, window: '1m' }),
      rateLimit({ limit: 10, window: '1m', algorithm: 'sliding_window' }),
      rateLimit({ limit: 10, window: '1m', subWindows: 6 }),
      rateLimit({ limit: 0, window: '1m' }),
    ].map(({ limit }) => limit.algorithm)
    expect(algorithms).toEqual(['sliding_log', 'sliding_window', 'sliding_window', 'sliding_window', 'sliding_window'])
  })

  it('admits the limit, refuses the next, and admits again when it says', () => {
    const { clock, limiter } = fixture({ limit: 3, window: '1m', algorithm: 'fixed_window' })
    expect([1, 2, 3, 4].map(() => limiter.check('user:42').allowed)).toEqual([true, true, true, false])
    expect(limiter.check('user:42')).toEqual({
      kind: 'refused',
      allowed: false,
      limit: 3,
      remaining: 0,
      resetAfterMs: 60_000,
      retryAfterMs: 60_000,
    })
    expect(limiter.check('user:43').allowed).toBe(true)
    clock.atMs += 60_000
    expect(limiter.check('user:42').allowed).toBe(true)
  })

  it('answers synchronously, with no promise', () => {
    expect(limiterOf('gcra').check('k')).not.toBeInstanceOf(Promise)
    expect(limiterOf('concurrency').acquire('k')).not.toBeInstanceOf(Promise)
  })

  it('charges a cost, calls one above the limit impossible, and charges nothing for it', () => {
    const { limiter } = fixture({ limit: 10, window: '1m' })
    expect(limiter.check('k', 4).remaining).toBe(6)
    expect(limiter.check('k', 11)).toMatchObject({ kind: 'impossible', maxCost: 10, remaining: 6 })
    expect(limiter.check('k', 6).remaining).toBe(0)
  })

  it('looks without charging, gives back and forgets', () => {
    const { limiter } = fixture({ limit: 10, window: '1m' })
    limiter.check('k', 7)
    expect([limiter.peek('k').remaining, limiter.peek('k').remaining]).toEqual([3, 3])
    expect([limiter.refund('k').remaining, limiter.refund('k', 3).remaining]).toEqual([4, 7])
    expect(limiter.refund('k', 100).remaining).toBe(10)
    limiter.check('k', 10)
    limiter.reset('k')
    expect(limiter.peek('k')).toMatchObject({ remaining: 10, resetAfterMs: 0 })
  })

  it('shares no state between two limiters of the same limit', () => {
    const [one, two] = [rateLimit({ limit: 1, window: '1m' }), rateLimit({ limit: 1, window: '1m' })]
    expect([one, two, one, two].map((limiter) => limiter.check('k').allowed)).toEqual([true, true, false, false])
  })

  it('remembers at most maxKeys callers, and says what it holds', () => {
    const { limiter } = fixture({ limit: 10, window: '1m', maxKeys: 100 })
    for (let i = 0; i < 1_000; i++) limiter.check(`user:${i}`)
    expect(limiter.stats).toMatchObject({ keys: 100, evicted: 900, shared: 0 })
  })

  it('takes keys of any text, up to 65,536 characters', () => {
    const { limiter } = fixture({ limit: 1, window: '1m' })
    const keys = [' ', '\0', '__proto__', 'constructor', '日本', '\ud800', '😀', 'x'.repeat(65_536), 'é', 'e\u0301']
    expect(keys.map((key) => limiter.check(key).allowed)).toEqual(keys.map(() => true))
    expect(keys.map((key) => limiter.check(key).allowed)).toEqual(keys.map(() => false))
  })

  it.each([
    ['', 'got 0 characters'],
    ['x'.repeat(65_537), 'got 65537 characters'],
    [undefined, 'got undefined'],
    [null, 'got null'],
    [42, 'got 42'],
    [{ toString: () => 'k' }, 'got an object'],
    [['k'], 'got a list'],
  ])('refuses a key that is none (%#)', (key, detail) => {
    const message = `KEY_INVALID: key: ${detail}. ${KEY_RULE}`
    for (const limiter of [limiterOf('sliding_window'), limiterOf('concurrency')]) {
      expect(() => limiter.check(key as string)).toThrow(message)
      expect(() => limiter.peek(key as string)).toThrow(message)
      expect(() => limiter.refund(key as string)).toThrow(message)
      expect(() => limiter.acquire(key as string)).toThrow(message)
    }
  })

  it.each([
    [1.5, 'got 1.5'],
    [Number.NaN, 'got NaN'],
    [Number.POSITIVE_INFINITY, 'got Infinity'],
    [4_294_967_296, 'got 4294967296'],
    ['1', 'got "1"'],
    [null, 'got null'],
  ])('refuses a cost that is none (%s)', (cost, detail) => {
    const message = `COST_INVALID: cost: ${detail}. ${COST_RULE}`
    expect(() => limiterOf('gcra').check('k', cost as number)).toThrow(message)
    expect(() => limiterOf('concurrency').acquire('k', cost as number)).toThrow(message)
  })

  it.each([0, -1])('takes no permit for a cost of %i', (cost) => {
    expect(() => limiterOf('concurrency').acquire('k', cost)).toThrow(`COST_INVALID: cost: got ${cost}. ${COST_RULE}`)
  })

  it.each([0, 1.5, 67_108_865])('refuses %d as maxKeys', (maxKeys) => {
    expect(() => rateLimit({ limit: 1, window: '1m', maxKeys })).toThrow(
      `MAX_KEYS_INVALID: maxKeys: got ${maxKeys}. maxKeys must be a whole number from 1 to 67108864.`,
    )
  })

  it('refuses options it does not know, and options that the algorithm does not use', () => {
    const typo = { limit: 1, window: '1m', maxKey: 5 }
    expect(() => rateLimit(typo)).toThrow(
      'OPTION_UNKNOWN: maxKey: unknown option, did you mean "maxKeys"? Only documented options are accepted, so that a typo is never silently ignored.',
    )
    expect(() => rateLimit({ limit: 1, window: '1m', leaseTtl: '1m' })).toThrow(/^OPTION_NOT_APPLICABLE: leaseTtl: /)
  })
})

describe('acquire', () => {
  const two = { limit: 2, algorithm: 'concurrency', leaseTtl: '10s' } as const

  it('takes places, and the permits give them back', () => {
    const { limiter } = fixture(two)
    const [first, second, third] = [limiter.acquire('k'), limiter.acquire('k'), limiter.acquire('k')]
    expect([first.allowed, second.allowed, third.allowed]).toEqual([true, true, false])
    expect(third.decision).toMatchObject({ kind: 'refused', remaining: 0, retryAfterMs: 10_000 })
    expect([third.release(), limiter.peek('k').remaining]).toEqual([false, 0])
    expect([first.release(), first.release(), limiter.peek('k').remaining]).toEqual([true, false, 1])
    expect([second.release(), limiter.peek('k').remaining]).toEqual([true, 2])
  })

  it('gives the place back at the end of the block', () => {
    const { limiter } = fixture(two)
    {
      using permit = limiter.acquire('k', 2)
      expect([permit.allowed, limiter.peek('k').remaining]).toEqual([true, 0])
    }
    expect(limiter.peek('k').remaining).toBe(2)
  })

  it('has the permit back after leaseTtl, and a late release takes no one’s place away', () => {
    const { clock, limiter } = fixture(two)
    const late = limiter.acquire('k', 2)
    clock.atMs += 10_000
    const next = limiter.acquire('k', 2)
    late.release()
    expect([next.allowed, limiter.peek('k').remaining]).toEqual([true, 0])
  })

  it('takes nothing by check', () => {
    const { limiter } = fixture(two)
    expect([limiter.check('k').allowed, limiter.check('k').allowed, limiter.check('k').allowed]).toEqual([
      true,
      true,
      true,
    ])
    expect(limiter.stats.keys).toBe(0)
  })

  it('is for concurrency limits only', () => {
    expect(() => limiterOf('token_bucket').acquire('k')).toThrow(
      'ACQUIRE_NOT_APPLICABLE: acquire: this limit is a token_bucket. ' +
        'Only a concurrency limit has permits to acquire. Use check for other algorithms.',
    )
  })
})

function limiterOf(algorithm: Algorithm) {
  return rateLimit(algorithm === 'concurrency' ? { algorithm, limit: 5 } : { algorithm, limit: 5, window: '1m' })
}
