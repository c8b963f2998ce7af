import { describe, expect, it } from 'vitest'
import { ERROR_RULES } from './error-rules.ts'
import type { ErrorCode } from './errors.ts'
import { compileLimit, type LimitOptions, scaleLimit } from './limit.ts'
import { raisedBy } from './raised.suite.ts'

/** What an error says before its rule: the rules themselves stand in errors.ts. */
function message(code: ErrorCode, whereAndWhat: string): string {
  return `${code}: ${whereAndWhat}${whereAndWhat.endsWith('?') ? '' : '.'} ${ERROR_RULES[code]}`
}

const OF_ENVIRONMENT = 'write Number(process.env.X) to read a number from the environment'
const NOT_SET = 'Number(process.env.X) is NaN when X is not set'

describe('compileLimit refuses', () => {
  const cases: [options: object, code: ErrorCode, whereAndWhat: string][] = [
    [{ window: '1s' }, 'LIMIT_INVALID', 'limit: got undefined'],
    [{ limit: -1, window: '1s' }, 'LIMIT_INVALID', 'limit: got -1'],
    [{ limit: 1.5, window: '1s' }, 'LIMIT_INVALID', 'limit: got 1.5'],
    [{ limit: Number.NaN, window: '1s' }, 'LIMIT_INVALID', `limit: got NaN; ${NOT_SET}`],
    [{ limit: '5', window: '1s' }, 'LIMIT_INVALID', `limit: got "5"; ${OF_ENVIRONMENT}`],
    [{ limit: 4_294_967_296, window: '1s' }, 'LIMIT_INVALID', 'limit: got 4294967296'],
    [{ limit: 5 }, 'WINDOW_REQUIRED', 'window: not given'],
    [{ limit: 5, algorithm: 'fixed_window' }, 'WINDOW_REQUIRED', 'window: not given'],
    [{ limit: 5, window: 0 }, 'WINDOW_INVALID', 'window: got 0'],
    [{ limit: 5, window: '0s' }, 'WINDOW_INVALID', 'window: got "0s"'],
    [{ limit: 5, window: '3661d' }, 'WINDOW_INVALID', 'window: got "3661d"'],
    [{ limit: 5, algorithm: 'concurrency', leaseTtl: 0 }, 'WINDOW_INVALID', 'leaseTtl: got 0'],
    [{ limit: 5, window: 'soon' }, 'DURATION_INVALID', 'window: got "soon"'],
    [{ limit: 5, window: 1.5 }, 'DURATION_INVALID', 'window: got 1.5'],
    [{ limit: 5, algorithm: 'concurrency', leaseTtl: '1y' }, 'DURATION_INVALID', 'leaseTtl: got "1y"'],
    [{ limit: 5, window: '1s', algorithm: 'leaky' }, 'ALGORITHM_UNKNOWN', 'algorithm: got "leaky"'],
    [{ limit: 5, window: '1s', algorithm: 'constructor' }, 'ALGORITHM_UNKNOWN', 'algorithm: got "constructor"'],
    [{ limit: 5, window: '1s', algorithm: 7 }, 'ALGORITHM_UNKNOWN', 'algorithm: got 7'],
    [{ limit: 5, window: '1s', countDenied: 'yes' }, 'SWITCH_INVALID', 'countDenied: got "yes"'],
    [{ limit: 5, window: '1s', countDenied: 1 }, 'SWITCH_INVALID', 'countDenied: got 1'],
    [{ limit: 5, window: '1s', algorithm: 'fixed_window', anchor: 'now' }, 'ANCHOR_UNKNOWN', 'anchor: got "now"'],
    [
      { limit: 5, algorithm: 'fixed_window', calendar: { unit: 'day' }, anchor: 'first_hit' },
      'OPTION_NOT_APPLICABLE',
      'anchor: calendar is also given and sets where windows begin',
    ],
    [
      { limit: 5, window: '1s', burst: 5 },
      'OPTION_NOT_APPLICABLE',
      'burst: not used by sliding_window, only by token_bucket, gcra, leaky_bucket',
    ],
    [
      { limit: 5, window: '1s', algorithm: 'gcra', subWindows: 5 },
      'OPTION_NOT_APPLICABLE',
      'subWindows: not used by gcra, only by sliding_window',
    ],
    [
      { limit: 5, calendar: { unit: 'day' } },
      'OPTION_NOT_APPLICABLE',
      'calendar: not used by sliding_window, only by fixed_window',
    ],
    [
      { limit: 5, window: '1s', leaseTtl: '1s' },
      'OPTION_NOT_APPLICABLE',
      'leaseTtl: not used by sliding_window, only by concurrency',
    ],
    [
      { limit: 5, window: '1s', algorithm: 'concurrency' },
      'OPTION_NOT_APPLICABLE',
      'window: not used by concurrency, only by sliding_window, token_bucket, gcra, leaky_bucket, fixed_window, sliding_log',
    ],
    [
      { limit: 5, algorithm: 'concurrency', countDenied: true },
      'OPTION_NOT_APPLICABLE',
      'countDenied: not used by concurrency, only by sliding_window, token_bucket, gcra, leaky_bucket, fixed_window, sliding_log',
    ],
    [
      { limit: 5, window: '1s', algorithm: 'fixed_window', calendar: { unit: 'day' } },
      'OPTION_NOT_APPLICABLE',
      'window: calendar is also given and sets the window',
    ],
    [
      { limit: 5, windowMs: 1000 },
      'OPTION_UNKNOWN',
      "windowMs: unknown option, write window: '60s'; options of other libraries are accepted by sluice/compat/…",
    ],
    [
      { limit: 5, window: '1s', algorithm: 'token-bukket' },
      'ALGORITHM_UNKNOWN',
      'algorithm: got "token-bukket", did you mean "token_bucket"?',
    ],
    [{ limit: 5, window: '1s', constructor: 1 }, 'OPTION_UNKNOWN', 'constructor: unknown option'],
    [JSON.parse('{"limit":5,"window":"1s","__proto__":{"x":1}}'), 'OPTION_UNKNOWN', '__proto__: unknown option'],
    [{ limit: 5, window: '1s', toString: 1 }, 'OPTION_UNKNOWN', 'toString: unknown option'],
    [{ limit: 5, window: '1s', algorithm: 'gcra', burst: 0 }, 'BURST_INVALID', 'burst: got 0'],
    [{ limit: 5, window: '1s', algorithm: 'gcra', burst: 2.5 }, 'BURST_INVALID', 'burst: got 2.5'],
    [{ limit: 5, window: '1s', algorithm: 'gcra', burst: 2 ** 32 }, 'BURST_INVALID', 'burst: got 4294967296'],
    [{ limit: 0, window: '1s', algorithm: 'gcra', burst: 5 }, 'BURST_INVALID', 'burst: got 5 with a limit of 0'],
    [{ limit: 2049, window: 1, algorithm: 'gcra' }, 'RATE_TOO_HIGH', 'limit: got 2049'],
    [{ limit: 512_001, window: '1s', algorithm: 'leaky_bucket' }, 'RATE_TOO_HIGH', 'limit: got 512001'],
    [{ limit: 1, window: '3650d', algorithm: 'token_bucket', burst: 100_000 }, 'BUCKET_TOO_LARGE', 'burst: got 100000'],
    [{ limit: 999_983, window: '365d', algorithm: 'token_bucket' }, 'BUCKET_TOO_LARGE', 'burst: got 999983'],
    [{ limit: 5, window: '1s', subWindows: 1 }, 'SUB_WINDOWS_INVALID', 'subWindows: got 1'],
    [{ limit: 5, window: '1s', subWindows: 1001 }, 'SUB_WINDOWS_INVALID', 'subWindows: got 1001'],
    [{ limit: 5, window: '1s', subWindows: 2.5 }, 'SUB_WINDOWS_INVALID', 'subWindows: got 2.5'],
    [{ limit: 5, window: '1s', subWindows: null }, 'SUB_WINDOWS_INVALID', 'subWindows: got null'],
    [{ limit: 5, window: 9, subWindows: 10 }, 'SUB_WINDOWS_INVALID', 'subWindows: got 10'],
    [{ limit: 10_001, window: '1s', algorithm: 'sliding_log' }, 'LOG_LIMIT_TOO_HIGH', 'limit: got 10001'],
    [{ limit: 10_001, algorithm: 'concurrency' }, 'LOG_LIMIT_TOO_HIGH', 'limit: got 10001'],
    [
      { limit: 5, algorithm: 'fixed_window', calendar: { unit: 'hour' } },
      'CALENDAR_INVALID',
      'calendar.unit: got "hour"',
    ],
    [
      { limit: 5, algorithm: 'fixed_window', calendar: { unit: 'day', timeZone: 'Nowhere' } },
      'CALENDAR_INVALID',
      'calendar.timeZone: got "Nowhere"',
    ],
    [
      { limit: 5, algorithm: 'fixed_window', calendar: { unit: 'day', zone: 'UTC' } },
      'OPTION_UNKNOWN',
      'calendar.zone: unknown option',
    ],
  ]
  it.each(cases)('%o', (options, code, whereAndWhat) => {
    expect(raisedBy(() => compileLimit(options as LimitOptions))).toBe(message(code, whereAndWhat))
  })

  it('with the place of the limit before the option', () => {
    expect(raisedBy(() => compileLimit({ limit: -1, window: '1s' }, 'limits[2]'))).toBe(
      message('LIMIT_INVALID', 'limits[2].limit: got -1'),
    )
  })
})

describe('compileLimit', () => {
  const DAY_MS = 86_400_000
  const cases: [options: LimitOptions, compiled: object][] = [
    [
      { limit: 100, window: '1m' },
      { algorithm: 'sliding_window', max: 100, windowMs: 60_000, capacity: 100, isLog: false, countDenied: false },
    ],
    [
      { limit: 100, window: '1m', subWindows: 7 },
      { quantumMs: 8572, isLog: true },
    ],
    [
      { limit: 1_000_000, window: '1m', subWindows: 60 },
      { quantumMs: 1000, isLog: true },
    ],
    [
      { algorithm: 'token_bucket', limit: 100, window: '1m', burst: 20, countDenied: true },
      { capacity: 20, unitsPerMs: 1, unitsPerHit: 600, fullUnits: 12_000, countDenied: true },
    ],
    [
      { algorithm: 'token_bucket', limit: 2053, window: '1m' },
      { unitsPerMs: 2053, unitsPerHit: 60_000 },
    ],
    [
      { algorithm: 'gcra', limit: 2053, window: '1m' },
      { unitsPerMs: 235, unitsPerHit: 6_868 },
    ],
    [
      { algorithm: 'gcra', limit: 0, window: '1m' },
      { capacity: 0, unitsPerMs: 0, fullUnits: 0 },
    ],
    [
      { algorithm: 'sliding_log', limit: 10_000, window: 1 },
      { windowMs: 1, quantumMs: 1, isLog: true },
    ],
    [
      { algorithm: 'concurrency', limit: 5 },
      { windowMs: 60_000, isLog: true },
    ],
    [{ algorithm: 'concurrency', limit: 5, leaseTtl: '5m' }, { windowMs: 300_000 }],
    [
      { algorithm: 'fixed_window', limit: 5, window: '3660d' },
      { windowMs: 3660 * DAY_MS, calendar: undefined },
    ],
    [{ algorithm: 'fixed_window', limit: 5, calendar: { unit: 'month' } }, { windowMs: 31 * DAY_MS + 10_800_000 }],
    [{ limit: 5, window: '1s', burst: undefined } as unknown as LimitOptions, { capacity: 5 }],
  ]
  it.each(cases)('turns %o into its arithmetic', (options, compiled) => {
    expect(compileLimit(options)).toMatchObject(compiled)
  })

  it('returns a frozen limit', () => {
    expect(Object.isFrozen(compileLimit({ limit: 1, window: '1s' }))).toBe(true)
    expect(Object.isFrozen(compileLimit({ limit: 1, window: '1s', algorithm: 'gcra' }))).toBe(true)
  })

  it('keeps the times of gcra below 2^51 units until the year 2100, two full buckets of waiting included', () => {
    const slow: LimitOptions[] = [
      { algorithm: 'gcra', limit: 284_957, window: '3650d', burst: 592_440 },
      { algorithm: 'leaky_bucket', limit: 2053, window: '30d', burst: 974_840 },
      { algorithm: 'gcra', limit: 1, window: '3650d', burst: 3_000 },
      { algorithm: 'gcra', limit: 2047, window: '3650d' },
    ]
    for (const options of slow) {
      const { fullUnits, unitsPerMs } = compileLimit(options)
      expect(4_102_444_800_000 * unitsPerMs + 2 * fullUnits).toBeLessThanOrEqual(2 ** 51)
    }
  })
})

describe('the shape of a limit', () => {
  // Shapes are part of the keys in Redis: one that is spelled otherwise begins all counters anew.
  it.each<[options: LimitOptions, shape: string]>([
    [{ limit: 5, window: '1m' }, 's1m'],
    [{ limit: 5, window: '90s', subWindows: 60 }, 's90s/60'],
    [{ limit: 5, window: '1h', algorithm: 'token_bucket', burst: 9 }, 't1h'],
    [{ limit: 5, window: '1h', algorithm: 'gcra' }, 'g1h'],
    [{ limit: 5, window: '1h', algorithm: 'leaky_bucket' }, 'l1h'],
    [{ limit: 5, window: '1d', algorithm: 'fixed_window' }, 'f1d'],
    [{ limit: 5, window: '1d', algorithm: 'fixed_window', anchor: 'epoch' }, 'f1d'],
    [{ limit: 5, window: '1d', algorithm: 'fixed_window', anchor: 'first_hit' }, 'a1d'],
    [{ limit: 5, window: '1500ms', algorithm: 'sliding_log' }, 'x1500ms'],
    [{ limit: 5, algorithm: 'concurrency' }, 'c1m'],
    [{ limit: 5, algorithm: 'fixed_window', calendar: { unit: 'month' } }, 'f/month/UTC'],
    [{ limit: 5, algorithm: 'fixed_window', calendar: { unit: 'month', timeZone: 'UTC' } }, 'f/month/UTC'],
    [
      { limit: 5, algorithm: 'fixed_window', calendar: { unit: 'week', timeZone: 'Europe/Berlin' } },
      'f/week/Europe/Berlin',
    ],
  ])('%o is %s', (options, shape) => {
    expect(compileLimit(options).shape).toBe(shape)
    expect(compileLimit({ ...options, limit: 500 })).toMatchObject({ shape, space: compileLimit(options).space })
  })
})

describe('scaleLimit', () => {
  it.each<[options: LimitOptions, share: number, scaled: object]>([
    [{ limit: 100, window: '1m' }, 0.25, { max: 25, capacity: 25 }],
    [{ limit: 3, window: '1m' }, 0.5, { max: 1, capacity: 1 }],
    [{ limit: 1, window: '1m' }, 0.01, { max: 1, capacity: 1 }],
    [{ limit: 0, window: '1m' }, 0.5, { max: 0, capacity: 0 }],
    [{ limit: 7, window: '1m' }, 1, { max: 7, capacity: 7 }],
    [
      { algorithm: 'token_bucket', limit: 100, window: '1m', burst: 20 },
      0.5,
      { max: 50, capacity: 10, unitsPerMs: 1, unitsPerHit: 1_200, fullUnits: 12_000 },
    ],
    [
      { algorithm: 'gcra', limit: 60, window: '1m', burst: 300 },
      0.1,
      { max: 6, capacity: 30, unitsPerMs: 1, unitsPerHit: 10_000, fullUnits: 300_000 },
    ],
    [{ algorithm: 'gcra', limit: 0, window: '1m' }, 0.5, { max: 0, capacity: 0, unitsPerMs: 0, fullUnits: 0 }],
  ])('of %o by %d has that share of rate and burst', (options, share, scaled) => {
    const limit = compileLimit(options)
    expect(scaleLimit(limit, share)).toMatchObject({ shape: limit.shape, windowMs: limit.windowMs, ...scaled })
  })
})
