import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PeriodCalendar, type PeriodUnit } from './period-calendar.ts'

const UNITS: readonly PeriodUnit[] = ['day', 'week', 'month', 'year']
const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

type Row = [
  claim: string,
  unit: PeriodUnit,
  zone: string,
  anchor: string | undefined,
  at: string,
  start: string,
  end: string,
]

const rows: Row[] = [
  [
    'is a calendar month by default',
    'month',
    'UTC',
    undefined,
    '2026-05-04T12:00Z',
    '2026-05-01T00:00Z',
    '2026-06-01T00:00Z',
  ],
  ['ends on the 28th', 'month', 'UTC', '2026-01-31', '2026-02-01T00:00Z', '2026-01-31T00:00Z', '2026-02-28T00:00Z'],
  [
    'ends on the 29th in a leap year',
    'month',
    'UTC',
    '2026-01-31',
    '2028-02-01T00:00Z',
    '2028-01-31T00:00Z',
    '2028-02-29T00:00Z',
  ],
  ['is on the 31st again', 'month', 'UTC', '2026-01-31', '2026-03-31T00:00Z', '2026-03-31T00:00Z', '2026-04-30T00:00Z'],
  [
    'begins at midnight of its zone',
    'month',
    'Europe/Berlin',
    '2026-01-15',
    '2026-04-01T00:00Z',
    '2026-03-14T23:00Z',
    '2026-04-14T22:00Z',
  ],
  ['begins on Monday', 'week', 'UTC', undefined, '2026-01-01T00:00Z', '2025-12-29T00:00Z', '2026-01-05T00:00Z'],
  [
    'begins on the weekday of the anchor',
    'week',
    'UTC',
    '2026-01-07',
    '2026-01-06T23:59Z',
    '2025-12-31T00:00Z',
    '2026-01-07T00:00Z',
  ],
  [
    'is the 28th where there is no 29th',
    'year',
    'UTC',
    '2024-02-29',
    '2026-01-01T00:00Z',
    '2025-02-28T00:00Z',
    '2026-02-28T00:00Z',
  ],
  [
    'is the 29th in a leap year',
    'year',
    'UTC',
    '2024-02-29',
    '2028-02-29T00:00Z',
    '2028-02-29T00:00Z',
    '2029-02-28T00:00Z',
  ],
  [
    'lasts 23 hours in spring',
    'day',
    'Europe/Berlin',
    undefined,
    '2026-03-29T12:00Z',
    '2026-03-28T23:00Z',
    '2026-03-29T22:00Z',
  ],
  [
    'skips the day that Apia skipped',
    'day',
    'Pacific/Apia',
    undefined,
    '2011-12-30T10:00Z',
    '2011-12-30T10:00Z',
    '2011-12-31T10:00Z',
  ],
]

describe('a period', () => {
  it.each(rows)('%s', (_, unit, timeZone, anchor, at, start, end) => {
    const period = new PeriodCalendar({ unit, timeZone, anchor }).at(Date.parse(at))
    expect(period).toEqual({ startMs: Date.parse(start), endMs: Date.parse(end) })
  })

  it('anchored on the 31st is in every month its last day, for ten years', () => {
    const calendar = new PeriodCalendar({ unit: 'month', timeZone: 'UTC', anchor: '2026-01-31' })
    let { endMs } = calendar.at(Date.UTC(2026, 0, 31))
    for (let month = 1; month < 120; month++) {
      expect(day(endMs)).toBe(day(Date.UTC(2026, month + 1, 0)))
      ;({ endMs } = calendar.at(endMs))
    }
  })

  const zones = fc.constantFrom(
    ...[
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kathmandu',
      'America/Sao_Paulo',
      'Africa/Cairo',
      'Asia/Beirut',
    ],
    ...[
      'Australia/Lord_Howe',
      'Pacific/Chatham',
      'Pacific/Apia',
      'America/Havana',
      'Antarctica/Troll',
      'Antarctica/Casey',
    ],
  )
  const options = fc.record({
    unit: fc.constantFrom(...UNITS),
    timeZone: zones,
    anchor: fc.option(
      fc.integer({ min: 0, max: 4_000 }).map((n) => day(Date.UTC(2020, 0, 1 + n))),
      { nil: undefined },
    ),
  })
  const instants = fc.integer({ min: Date.UTC(2009, 0), max: Date.UTC(2035, 0) })

  it('neither overlaps its neighbours nor leaves a gap', () => {
    fc.assert(
      fc.property(options, instants, (of, instantMs) => {
        const calendar = new PeriodCalendar(of)
        const { startMs, endMs } = calendar.at(instantMs)
        expect(startMs <= instantMs && instantMs < endMs).toBe(true)
        expect(calendar.at(startMs)).toEqual({ startMs, endMs })
        expect(calendar.at(endMs).startMs).toBe(endMs)
        expect(calendar.at(startMs - 1).endMs).toBe(startMs)
      }),
      {
        numRuns: 150,
        examples: [[{ unit: 'day', timeZone: 'Pacific/Apia', anchor: undefined }, Date.parse('2011-12-30T09:59Z')]],
      },
    )
  })

  it('goes on from the one before when the zone or the anchor is changed, and lasts at least half of its time', () => {
    const half = { day: 0.5, week: 3.5, month: 14, year: 182 }
    fc.assert(
      fc.property(options, options, instants, fc.integer({ min: 0, max: 800 }), (before, then, instantMs, days) => {
        const { endMs } = new PeriodCalendar(before).at(instantMs)
        const calendar = new PeriodCalendar({ ...then, unit: before.unit })
        const first = calendar.after(endMs, endMs)
        expect(first.startMs).toBe(endMs)
        // A day of 23 hours has half of its time an hour earlier.
        expect(first.endMs - first.startMs).toBeGreaterThanOrEqual((half[before.unit] - 2 / 24) * 86_400_000)
        expect(calendar.after(endMs, first.endMs).startMs).toBe(first.endMs)
        expect(calendar.after(endMs, first.endMs - 1)).toEqual(first)
        const later = first.endMs + days * 86_400_000
        expect(calendar.after(endMs, later)).toEqual(calendar.after(first.endMs, later))
      }),
      { numRuns: 150 },
    )
  })
})
