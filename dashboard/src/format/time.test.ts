import { expect, it } from 'vitest'
import { fullTime, relativeTime, zonedTime } from './time.ts'

const MIDNIGHT_MS = Date.parse('2026-12-01T08:00:00Z')

it('a time of another zone is written as clocks there show it, with the name of the zone', () => {
  const text = zonedTime(MIDNIGHT_MS, 'America/Los_Angeles')
  expect(text).toMatch(/\b(00:00|12:00 AM)\b/)
  expect(text).toMatch(/\b1\b.*2026/)
  expect(text).toMatch(/GMT-8|PST/)
})

it('a zone that is not known is that of the viewer', () => {
  expect(zonedTime(MIDNIGHT_MS, 'Mars/Base')).toBe(fullTime(MIDNIGHT_MS))
})

it('what is near is so in every zone, and what is farther than a week is a date of the zone', () => {
  const near = relativeTime(MIDNIGHT_MS, 'America/Los_Angeles', MIDNIGHT_MS - 3_600_000)
  expect(near).toBe(relativeTime(MIDNIGHT_MS, undefined, MIDNIGHT_MS - 3_600_000))
  const nowMs = MIDNIGHT_MS - 8 * 86_400_000
  expect(relativeTime(MIDNIGHT_MS, 'America/Los_Angeles', nowMs)).toBe(zonedTime(MIDNIGHT_MS, 'America/Los_Angeles'))
  expect(relativeTime(MIDNIGHT_MS, undefined, nowMs)).toBe(fullTime(MIDNIGHT_MS))
})
