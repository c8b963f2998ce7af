import { describe, expect, it } from 'vitest'
import { endOf, endPresets, inputOf, type PresetName } from './end-times.ts'

const at = (...parts: [number, number, number, number?, number?]): number => new Date(...parts).getTime()
const named = (nowMs: number, text: PresetName): number | undefined => endPresets(nowMs, [text])[0]?.at

describe('endPresets', () => {
  it.each([
    ['a Monday', at(2026, 10, 16, 4, 50), at(2026, 10, 21)],
    ['a Friday', at(2026, 10, 20, 23, 59), at(2026, 10, 21)],
    ['a Saturday', at(2026, 10, 21, 0, 0), at(2026, 10, 28)],
    ['the end of a year', at(2026, 11, 29), at(2027, 0, 2)],
  ])('until Friday, asked on %s, is the end of that Friday', (_, now, end) => {
    expect(named(now, 'Until Friday')).toBe(end)
  })

  it('the end of the month is the beginning of the next, also in December', () => {
    expect(named(at(2026, 10, 16), 'End of month')).toBe(at(2026, 11, 1))
    expect(named(at(2026, 11, 31, 23), 'End of month')).toBe(at(2027, 0, 1))
  })

  it('an hour is an hour, a day is 24 of them, and no end is none', () => {
    expect(named(5, '1 h')).toBe(3_600_005)
    expect(named(5, '24 h')).toBe(86_400_005)
    expect([named(5, '7 days'), named(5, '1 year')]).toEqual([7 * 86_400_000 + 5, 365 * 86_400_000 + 5])
    expect(named(5, 'No end')).toBeUndefined()
  })
})

describe('endOf', () => {
  it('reads back what an input holds, to the minute', () => {
    const ms = at(2026, 0, 5, 7, 9)
    expect(inputOf(ms)).toBe('2026-01-05T07:09')
    expect(endOf(inputOf(ms), 0)).toEqual({ kind: 'at', ms })
    expect(inputOf(undefined)).toBe('')
  })

  it('an empty input has no end', () => {
    expect(endOf('', 0)).toEqual({ kind: 'none' })
  })

  it('what is no time, or past, says so', () => {
    expect(endOf('soon', 0)).toEqual({ kind: 'wrong', why: 'This is not a date and time.' })
    expect(endOf('2026-01-05T07:09', at(2027, 0, 1))).toEqual({
      kind: 'wrong',
      why: 'The end must be in the future.',
    })
  })
})
