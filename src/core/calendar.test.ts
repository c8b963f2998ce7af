import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Calendar, type CalendarOptions } from './calendar.ts'
import { raisedBy } from './raised.suite.ts'

const UNITS = ['day', 'week', 'month', 'year'] as const

type Row = [claim: string, timeZone: string, at: string, start: string, end: string]

const days: Row[] = [
  ['is a day of UTC', 'UTC', '2026-05-04T12:00Z', '2026-05-04T00:00Z', '2026-05-05T00:00Z'],
  ['contains its start', 'UTC', '2026-05-04T00:00Z', '2026-05-04T00:00Z', '2026-05-05T00:00Z'],
  ['does not contain its end', 'UTC', '2026-05-05T00:00Z', '2026-05-05T00:00Z', '2026-05-06T00:00Z'],
  ['lasts 23 hours in spring', 'Europe/Berlin', '2026-03-29T12:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z'],
  ['lasts 25 hours in autumn', 'Europe/Berlin', '2026-10-25T12:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
  ['lasts 23 and a half', 'Australia/Lord_Howe', '2026-10-04T00:00Z', '2026-10-03T13:30Z', '2026-10-04T13:00Z'],
  ['starts at a quarter past', 'Asia/Kathmandu', '2026-05-04T12:00Z', '2026-05-03T18:15Z', '2026-05-04T18:15Z'],
  ['starts at 1 without midnight', 'America/Sao_Paulo', '2017-10-15T12:00Z', '2017-10-15T03:00Z', '2017-10-16T02:00Z'],
  ['ends before no midnight', 'America/Sao_Paulo', '2017-10-15T02:59Z', '2017-10-14T03:00Z', '2017-10-15T03:00Z'],
  ['starts at 1 in Cairo', 'Africa/Cairo', '2024-04-26T12:00Z', '2024-04-25T22:00Z', '2024-04-26T21:00Z'],
  ['starts at 1 in Beirut', 'Asia/Beirut', '2022-03-27T12:00Z', '2022-03-26T22:00Z', '2022-03-27T21:00Z'],
  ['repeats its last hour', 'America/Santiago', '2026-04-05T03:30Z', '2026-04-04T03:00Z', '2026-04-05T04:00Z'],
  ['ends where a day is skipped', 'Pacific/Apia', '2011-12-30T09:00Z', '2011-12-29T10:00Z', '2011-12-30T10:00Z'],
  ['starts after that day', 'Pacific/Apia', '2011-12-30T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
]

const weeks: Row[] = [
  ['ends on Sunday', 'UTC', '2026-05-03T23:59Z', '2026-04-27T00:00Z', '2026-05-04T00:00Z'],
  ['starts on Monday', 'UTC', '2026-05-04T00:00Z', '2026-05-04T00:00Z', '2026-05-11T00:00Z'],
  ['lasts 167 hours in spring', 'Europe/Berlin', '2026-03-25T12:00Z', '2026-03-22T23:00Z', '2026-03-29T22:00Z'],
  ['runs over the turn of the year', 'UTC', '2026-01-01T00:00Z', '2025-12-29T00:00Z', '2026-01-05T00:00Z'],
]

const months: Row[] = [
  ['has 28 days', 'UTC', '2026-02-28T23:59Z', '2026-02-01T00:00Z', '2026-03-01T00:00Z'],
  ['has 29 days in a leap year', 'UTC', '2028-02-29T12:00Z', '2028-02-01T00:00Z', '2028-03-01T00:00Z'],
  ['has 31 days', 'UTC', '2026-01-31T00:00Z', '2026-01-01T00:00Z', '2026-02-01T00:00Z'],
  ['starts with its zone', 'Pacific/Auckland', '2026-12-31T11:00Z', '2026-12-31T11:00Z', '2027-01-31T11:00Z'],
]

const years: Row[] = [
  ['has 365 days', 'America/New_York', '2026-07-01T00:00Z', '2026-01-01T05:00Z', '2027-01-01T05:00Z'],
  ['has 366 days', 'UTC', '2028-12-31T23:59Z', '2028-01-01T00:00Z', '2029-01-01T00:00Z'],
  ['is not a leap year in 2100', 'UTC', '2100-06-01T00:00Z', '2100-01-01T00:00Z', '2101-01-01T00:00Z'],
]

describe.each([
  ['day', days],
  ['week', weeks],
  ['month', months],
  ['year', years],
] as const)('a %s', (unit, rows) => {
  it.each(rows)('%s (%s, %s)', (_, timeZone, at, start, end) => {
    const window = new Calendar({ unit, timeZone }, 'calendar').windowAt(Date.parse(at))
    expect(window).toEqual({ startMs: Date.parse(start), endMs: Date.parse(end) })
  })
})

describe('calendar windows', () => {
  // Odd offsets, skipped and repeated midnights, skipped days, changes of three hours, and the plain ones.
  const zones = fc.constantFrom(
    ...['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Asia/Kolkata', 'America/St_Johns'],
    ...['America/Sao_Paulo', 'Africa/Cairo', 'Asia/Beirut', 'Australia/Lord_Howe', 'Pacific/Chatham', 'Pacific/Apia'],
    ...['America/Santiago', 'America/Havana', 'America/Nuuk', 'Asia/Gaza', 'Antarctica/Troll', 'Antarctica/Casey'],
  )
  const instants = fc.oneof(
    fc.integer({ min: Date.UTC(2005, 0), max: Date.UTC(2040, 0) }),
    fc.constantFrom(Date.parse('2010-03-04T14:30Z'), Date.parse('2010-03-04T17:30Z')),
  )

  it('tile time: each contains its instants, and starts where the one before ends', () => {
    fc.assert(
      fc.property(zones, fc.constantFrom(...UNITS), instants, (timeZone, unit, instantMs) => {
        const { startMs, endMs } = new Calendar({ unit, timeZone }, 'calendar').windowAt(instantMs)
        expect(startMs).toBeLessThanOrEqual(instantMs)
        expect(endMs).toBeGreaterThan(instantMs)
        const again = new Calendar({ unit, timeZone }, 'calendar')
        expect(again.windowAt(endMs).startMs).toBe(endMs)
        expect(again.windowAt(startMs - 1).endMs).toBe(startMs)
        expect(again.windowAt(startMs)).toEqual({ startMs, endMs })
        expect(again.windowAt(endMs - 1)).toEqual({ startMs, endMs })
      }),
      { numRuns: 150, examples: [['Antarctica/Casey', 'day', Date.parse('2010-03-04T14:59:59.999Z')]] },
    )
  })

  it('do not depend on what was asked before', () => {
    fc.assert(
      fc.property(zones, fc.array(instants, { minLength: 1, maxLength: 5 }), (timeZone, asked) => {
        const calendar = new Calendar({ unit: 'month', timeZone }, 'calendar')
        for (const instantMs of [...asked, asked[0]!]) {
          expect(calendar.windowAt(instantMs)).toEqual(
            new Calendar({ unit: 'month', timeZone }, 'calendar').windowAt(instantMs),
          )
        }
      }),
      { numRuns: 30 },
    )
  })

  it('last no longer than longestMs', () => {
    fc.assert(
      fc.property(zones, fc.constantFrom(...UNITS), instants, (timeZone, unit, instantMs) => {
        const calendar = new Calendar({ unit, timeZone }, 'calendar')
        const { startMs, endMs } = calendar.windowAt(instantMs)
        expect(endMs - startMs).toBeLessThanOrEqual(calendar.longestMs)
      }),
      { numRuns: 100, examples: [['Antarctica/Casey', 'day', Date.parse('2019-03-16T13:00Z')]] },
    )
  })
})

describe('a calendar', () => {
  const RULE = 'A calendar needs a unit (day, week, month or year) and an IANA time zone, such as "Europe/Berlin".'
  const bad: [options: unknown, message: string][] = [
    [{ unit: 'hour' }, `CALENDAR_INVALID: rule.calendar.unit: got "hour". ${RULE}`],
    [{}, `CALENDAR_INVALID: rule.calendar.unit: got undefined. ${RULE}`],
    ['day', `CALENDAR_INVALID: rule.calendar.unit: got undefined. ${RULE}`],
    [{ unit: 'day', timeZone: 'Mars/Base' }, `CALENDAR_INVALID: rule.calendar.timeZone: got "Mars/Base". ${RULE}`],
    [{ unit: 'day', timeZone: '' }, `CALENDAR_INVALID: rule.calendar.timeZone: got "". ${RULE}`],
    [{ unit: 'day', timeZone: null }, `CALENDAR_INVALID: rule.calendar.timeZone: got null. ${RULE}`],
    [
      { unit: 'day', timezone: 'Europe/Berlin' },
      'OPTION_UNKNOWN: rule.calendar.timezone: unknown option. Only documented options are accepted, so that a typo is never silently ignored.',
    ],
  ]
  it.each(bad)('refuses %o', (options, message) => {
    expect(raisedBy(() => new Calendar(options as CalendarOptions, 'rule.calendar'))).toBe(message)
  })

  it('is in UTC by default', () => {
    expect(new Calendar({ unit: 'day' }, 'calendar')).toMatchObject({ unit: 'day', timeZone: 'UTC' })
  })
})
