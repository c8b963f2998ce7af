import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'
import { ERROR_RULES } from './error-rules.ts'
import { raisedBy } from './raised.suite.ts'

describe('parseDuration', () => {
  const good: [value: unknown, ms: number][] = [
    [0, 0],
    [1, 1],
    [90_000, 90_000],
    ['500ms', 500],
    ['90s', 90_000],
    ['1m', 60_000],
    ['1h30m', 5_400_000],
    ['1h 30m', 5_400_000],
    [' 2 h ', 7_200_000],
    ['30d', 2_592_000_000],
    ['2w', 1_209_600_000],
    ['1W1D1H1M1S1MS', 694_861_001],
    ['1.5h', 5_400_000],
    ['0.25s', 250],
    ['1.005s', 1005],
    ['1.1m', 66_000],
    ['0s', 0],
    ['1 minute', 60_000],
    ['2 Hours 30 mins', 9_000_000],
    ['10 sec', 10_000],
    ['7days', 604_800_000],
    ['1.5 hrs', 5_400_000],
    ['250 milliseconds', 250],
  ]
  it.each(good)('reads %o as %d ms', (value, ms) => {
    expect(parseDuration(value, 'window')).toBe(ms)
  })

  const bad: [value: unknown, found: string][] = [
    ['', 'got ""'],
    ['60', 'got "60"'],
    ['s', 'got "s"'],
    ['-1s', 'got "-1s"'],
    ['1s!', 'got "1s!"'],
    ['1 month', 'got "1 month"'],
    ['1 ss', 'got "1 ss"'],
    ['minute', 'got "minute"'],
    ['1 fortnight', 'got "1 fortnight"'],
    ['1h30', 'got "1h30"'],
    ['.5s', 'got ".5s"'],
    ['0.5ms', 'got "0.5ms"'],
    ['1e3s', 'got "1e3s"'],
    ['Infinity', 'got "Infinity"'],
    ['99999999999w', 'got "99999999999w"'],
    [`${'1s'.repeat(33)}`, `got "${'1s'.repeat(32)}…"`],
    [1.5, 'got 1.5'],
    [-1, 'got -1'],
    [Number.NaN, 'got NaN'],
    [Number.POSITIVE_INFINITY, 'got Infinity'],
    [2 ** 53, 'got 9007199254740992'],
    [undefined, 'got undefined'],
    [null, 'got null'],
    [10n, 'got 10'],
    [{}, 'got an object'],
  ]
  it.each(bad)('refuses %o', (value, found) => {
    const message = `DURATION_INVALID: rule.window: ${found}. ${ERROR_RULES.DURATION_INVALID}`
    expect(raisedBy(() => parseDuration(value, 'rule.window'))).toBe(message)
  })

  it('reads a decimal as exactly what it says', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (ms) => {
        const text = `${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, '0')}s`
        expect(parseDuration(text, 'window')).toBe(ms)
      }),
      { numRuns: 500 },
    )
  })
})

describe('formatDuration', () => {
  const cases: [ms: number, text: string][] = [
    [0, '0ms'],
    [1, '1ms'],
    [1500, '1500ms'],
    [60_000, '1m'],
    [90_000, '90s'],
    [5_400_000, '90m'],
    [86_400_000, '1d'],
    [604_800_000, '1w'],
    [2_592_000_000, '30d'],
  ]
  it.each(cases)('formats %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  it('formats what parseDuration reads back', () => {
    const unit = fc.constantFrom(1, 1000, 60_000, 3_600_000, 86_400_000, 604_800_000)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), unit, (count, size) => {
        expect(parseDuration(formatDuration(count * size), 'window')).toBe(count * size)
      }),
      { numRuns: 300 },
    )
  })
})
